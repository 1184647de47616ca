#include "steps/step_memory.hpp"

#include <utility>

namespace pinfold::harness {

Json memory_of(const StepContext& context) {
  Json pods = Json::object();
  for (const auto& [name, pod] : context.pods) {
    pods[name] = {{"uid", pod.uid},
                  {"containers", pod.containers},
                  {"countsAsStarted", pod.counts_as_started}};
  }
  Json runtime_pods = Json::object();
  for (const auto& [name, pod] : context.runtime_pods) {
    runtime_pods[name] = {{"id", pod.id},
                          {"containers", pod.containers},
                          {"cgroupParent", pod.requests.cgroup_parent},
                          {"sandboxConfig", pod.requests.sandbox},
                          {"containerConfigs", pod.requests.containers}};
  }
  Json static_pods = Json::object();
  for (const auto& [name, pod] : context.kubelet.pods) {
    static_pods[name] = {{"uid", pod.uid}, {"cgroup", pod.cgroup}, {"containers", pod.containers}};
  }
  Json exclusive = Json::object();
  for (const auto& [group, cpus] : context.exclusive) exclusive[group] = cpus.to_string();
  return {{"pods", std::move(pods)},
          {"runtimePods", std::move(runtime_pods)},
          {"kubelet",
           {{"program", context.kubelet.program},
            {"config", context.kubelet.config},
            {"pods", std::move(static_pods)}}},
          {"running", context.running},
          {"sampling", context.sampling},
          {"exclusive", std::move(exclusive)}};
}

bool recall(StepContext& context, const Json& memory) {
  try {
    for (const auto& [name, pod] : memory.at("pods").items()) {
      context.pods[name] = {pod.at("uid"), pod.at("containers"), pod.at("countsAsStarted")};
    }
    for (const auto& [name, pod] : memory.at("runtimePods").items()) {
      PodRequests requests{pod.at("cgroupParent"), pod.at("sandboxConfig"),
                           pod.at("containerConfigs")};
      context.runtime_pods[name] = {std::move(requests), pod.at("id"), pod.at("containers")};
    }
    const Json& kubelet = memory.at("kubelet");
    context.kubelet.program = kubelet.at("program");
    context.kubelet.config = kubelet.at("config");
    for (const auto& [name, pod] : kubelet.at("pods").items()) {
      context.kubelet.pods[name] = {pod.at("uid"), pod.at("cgroup"), pod.at("containers")};
    }
    context.running = memory.at("running");
    context.sampling = memory.at("sampling");
    for (const auto& [group, cpus] : memory.at("exclusive").items()) {
      const auto list = CpuSet::parse(cpus.get<std::string>());
      if (!list) return false;
      context.exclusive[group] = *list;
    }
  } catch (const Json::exception&) {
    return false;
  }
  return true;
}

}  // namespace pinfold::harness
