#include "cri.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "cri_call.hpp"

namespace pinfold::driver {
namespace {

constexpr int kMostOfMain = 2;

Pod pod_of(const std::string& name) {
  Pod pod{};
  // NOLINTNEXTLINE(cert-err34-c): names are the driver's own
  if (std::sscanf(name.c_str(), "x%d-%d-%d", &pod.exclusive, &pod.series, &pod.number) != 3) {
    complain(fmt::format("'{}': no pod of the driver", name));
  }
  return pod;
}

}  // namespace

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void complain(const std::string& what) { throw std::runtime_error(what); }

std::string Pod::name() const { return fmt::format("x{}-{}-{}", exclusive, series, number); }

std::string Pod::uid() const {
  return fmt::format("33333333-aaaa-4000-{:04}-{:012}", series, number);
}

std::string Pod::cgroup() const {
  const char* const qos = exclusive == kBestEffort ? "/besteffort"
                          : exclusive == 0         ? "/burstable"
                                                   : "";
  return fmt::format("/kubepods{}/pod{}", qos, uid());
}

int Pod::exclusive_of(const std::string& container) const {
  if (exclusive == kBestEffort) return 0;
  const int main = std::min(exclusive, kMostOfMain);
  return container == "main" ? main : exclusive - main;
}

/// All pods together request less than the node has. The runtime's own work to start a container
/// counts against its quota, so a small quota takes long.
Json Pod::resources(const std::string& container) const {
  if (exclusive == kBestEffort) return {{"cpu_shares", 2}, {"oom_score_adj", 1000}};
  const int cpus = exclusive_of(container);
  const bool is_burstable = exclusive == 0;
  const int request = is_burstable ? 100 : std::max(1000 * cpus, 500);
  const int limit = is_burstable ? 2000 : request;
  return {{"cpu_shares", request * 1024 / 1000},
          {"cpu_period", 100000},
          {"cpu_quota", 100 * limit},
          {"memory_limit_in_bytes", 32 << 20},
          {"oom_score_adj", is_burstable ? 970 : -997}};
}

/// As a kubelet does, adds up those of the containers.
Json Pod::all_resources() const {
  Json all = resources("main");
  if (exclusive == kBestEffort) return all;
  const Json more = resources("more");
  for (const char* const key : {"cpu_shares", "cpu_quota", "memory_limit_in_bytes"}) {
    all[key] = all[key].get<int>() + more[key].get<int>();
  }
  return all;
}

Json Pod::sandbox() const {
  return {{"metadata", {{"name", name()}, {"namespace", "default"}, {"uid", uid()}}},
          {"linux",
           {{"cgroup_parent", cgroup()},
            {"security_context", {{"namespace_options", {{"network", "NODE"}}}}},
            {"resources", all_resources()}}}};
}

Json Pod::container(const std::string& container) const {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment
  const bool is_restless = std::getenv("NRI_DRIVER_RESTLESS") != nullptr;
  const Json command = is_restless ? Json::array({"/restless", "restless"})
                                   : Json::array({"/bin/busybox", "sleep", "1000000"});
  return {{"metadata", {{"name", container}}},
          {"image", {{"image", is_restless ? "localhost/restless:1" : "localhost/busybox:1"}}},
          {"command", command},
          {"linux", {{"resources", resources(container)}}}};
}

std::vector<Sandbox> sandboxes() {
  std::vector<Sandbox> found;
  const Json containers = call("ListContainers", Json::object()).at("containers");
  const Json items = call("ListPodSandbox", Json::object()).at("items");
  for (const Json& one : items) {
    Sandbox& sandbox = found.emplace_back();
    sandbox.id = one.at("id");
    sandbox.pod = pod_of(one.at("metadata").at("name"));
    sandbox.is_ready = one.at("state") == "SANDBOX_READY";
    for (const Json& container : containers) {
      if (container.at("pod_sandbox_id") != sandbox.id) continue;
      sandbox.containers.push_back({container.at("id"), container.at("metadata").at("name"),
                                    container.at("state") == "CONTAINER_RUNNING"});
    }
  }
  return found;
}

std::string run_sandbox(const Pod& pod) {
  return call("RunPodSandbox", {{"config", pod.sandbox()}}).at("pod_sandbox_id");
}

std::string run_container(const Sandbox& sandbox, const std::string& name) {
  std::string id = call("CreateContainer", {{"pod_sandbox_id", sandbox.id},
                                            {"config", sandbox.pod.container(name)},
                                            {"sandbox_config", sandbox.pod.sandbox()}})
                       .at("container_id");
  (void)call("StartContainer", {{"container_id", id}});
  return id;
}

void remove_container(const Container& container) {
  (void)call("StopContainer", {{"container_id", container.id}, {"timeout", 0}});
  (void)call("RemoveContainer", {{"container_id", container.id}});
}

void remove_pod(const Sandbox& sandbox) {
  (void)call("StopPodSandbox", {{"pod_sandbox_id", sandbox.id}});
  (void)call("RemovePodSandbox", {{"pod_sandbox_id", sandbox.id}});
  // It may have been removed before an earlier call failed.
  std::error_code ignored;
  std::filesystem::remove("/sys/fs/cgroup" + sandbox.pod.cgroup(), ignored);
}

}  // namespace pinfold::driver
