#include "step_runner.hpp"

/// What a runner knows about its guest, stored next to a saved state of the guest.
namespace pinfold::harness {

Json StepRunner::memory() const {
  Json pods = Json::object();
  for (const auto& [name, pod] : pods_) {
    pods[name] = {{"uid", pod.uid},
                  {"containers", pod.containers},
                  {"countsAsStarted", pod.counts_as_started}};
  }
  Json runtime_pods = Json::object();
  for (const auto& [name, pod] : runtime_pods_) {
    runtime_pods[name] = {{"id", pod.id},
                          {"containers", pod.containers},
                          {"cgroupParent", pod.requests.cgroup_parent},
                          {"sandboxConfig", pod.requests.sandbox},
                          {"containerConfigs", pod.requests.containers}};
  }
  Json exclusive = Json::object();
  for (const auto& [group, cpus] : exclusive_) exclusive[group] = cpus.to_string();
  return {{"pods", std::move(pods)},
          {"runtimePods", std::move(runtime_pods)},
          {"running", running_},
          {"sampling", sampling_},
          {"exclusive", std::move(exclusive)}};
}

bool StepRunner::recall(const Json& memory) {
  try {
    for (const auto& [name, pod] : memory.at("pods").items()) {
      pods_[name] = {pod.at("uid"), pod.at("containers"), pod.at("countsAsStarted")};
    }
    for (const auto& [name, pod] : memory.at("runtimePods").items()) {
      PodRequests requests{pod.at("cgroupParent"), pod.at("sandboxConfig"),
                           pod.at("containerConfigs")};
      runtime_pods_[name] = {std::move(requests), pod.at("id"), pod.at("containers")};
    }
    running_ = memory.at("running");
    sampling_ = memory.at("sampling");
    for (const auto& [group, cpus] : memory.at("exclusive").items()) {
      const auto list = CpuSet::parse(cpus.get<std::string>());
      if (!list) return false;
      exclusive_[group] = *list;
    }
  } catch (const Json::exception&) {
    return false;
  }
  return true;
}

}  // namespace pinfold::harness
