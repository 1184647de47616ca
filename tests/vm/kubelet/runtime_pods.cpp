#include "runtime_pods.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "nri/cri_call.hpp"

namespace pinfold::test {
namespace {

using Json = nlohmann::json;
using driver::call;

/// Removes the group of a pod, which the runtime leaves.
void remove_group(const std::string& uid) {
  for (const char* parent : {"", "/burstable", "/besteffort"}) {
    std::error_code ignored;
    std::filesystem::remove(std::string("/sys/fs/cgroup/kubepods") + parent + "/pod" + uid,
                            ignored);
  }
}

}  // namespace

const RuntimeContainer* RuntimePod::find(const std::string& name) const {
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const auto& one) { return one.name == name; });
  return found == containers.end() ? nullptr : &*found;
}

std::vector<RuntimePod> runtime_pods() {
  const Json containers = call("ListContainers", Json::object()).at("containers");
  const Json items = call("ListPodSandbox", Json::object()).at("items");
  std::vector<RuntimePod> pods;
  for (const Json& item : items) {
    RuntimePod& pod = pods.emplace_back();
    pod.id = item.at("id");
    pod.uid = item.at("metadata").at("uid");
    pod.runs = item.at("state") == "SANDBOX_READY";
    for (const Json& one : containers) {
      if (one.at("pod_sandbox_id") != pod.id) continue;
      pod.containers.push_back(
          {one.at("id"), one.at("metadata").at("name"), one.at("state") == "CONTAINER_RUNNING"});
    }
  }
  return pods;
}

RuntimePod run_pod(const std::string& uid, const harness::PodRequests& requests) {
  const Json reply = call("RunPodSandbox", {{"config", requests.sandbox}});
  return {reply.at("pod_sandbox_id"), uid, true, {}};
}

void remove_runtime_pod(const RuntimePod& pod) {
  for (const RuntimeContainer& container : pod.containers) {
    (void)call("StopContainer", {{"container_id", container.id}, {"timeout", 0}});
  }
  (void)call("StopPodSandbox", {{"pod_sandbox_id", pod.id}});
  (void)call("RemovePodSandbox", {{"pod_sandbox_id", pod.id}});
  remove_group(pod.uid);
}

std::string run_container(const RuntimePod& pod, const harness::PodRequests& requests,
                          const std::string& name) {
  if (const RuntimeContainer* ended = pod.find(name)) {
    (void)call("RemoveContainer", {{"container_id", ended->id}});
  }
  std::string id = call("CreateContainer", {{"pod_sandbox_id", pod.id},
                                            {"config", requests.containers.at(name)},
                                            {"sandbox_config", requests.sandbox}})
                       .at("container_id");
  (void)call("StartContainer", {{"container_id", id}});
  return id;
}

void set_cpus(const std::string& container, const std::string& cpus) {
  (void)call("UpdateContainerResources",
             {{"container_id", container}, {"linux", {{"cpuset_cpus", cpus}}}});
}

}  // namespace pinfold::test
