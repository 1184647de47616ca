#include <utility>

#include "steps/steps.hpp"

namespace pinfold::harness {
namespace {

Json to_json(const ExclusiveCpus& exclusive) {
  Json object = Json::object();
  for (const auto& [group, cpus] : exclusive) object[group] = cpus.to_string();
  return object;
}

/// Returns false for a list that cannot be read.
bool read_exclusive(const Json& object, ExclusiveCpus& exclusive) {
  for (const auto& [group, cpus] : object.items()) {
    const auto list = CpuSet::parse(cpus.get<std::string>());
    if (!list) return false;
    exclusive[group] = *list;
  }
  return true;
}

}  // namespace

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
  Json witnessed;
  if (context.witnessed) {
    witnessed = Json::array();
    for (const ExclusiveCpus& one : *context.witnessed) witnessed.push_back(to_json(one));
  }
  return {{"pods", std::move(pods)},
          {"runtimePods", std::move(runtime_pods)},
          {"kubelet",
           {{"program", context.kubelet.program},
            {"config", context.kubelet.config},
            {"pods", std::move(static_pods)},
            {"uids", context.kubelet.uids}}},
          {"running", context.running},
          {"sampling", context.sampling},
          {"exclusive", to_json(context.exclusive)},
          {"witnessed", std::move(witnessed)}};
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
    context.kubelet.uids = kubelet.at("uids");
    context.running = memory.at("running");
    context.sampling = memory.at("sampling");
    if (!read_exclusive(memory.at("exclusive"), context.exclusive)) return false;
    const Json& witnessed = memory.at("witnessed");
    if (witnessed.is_null()) return true;
    context.witnessed.emplace();
    for (const Json& one : witnessed) {
      if (!read_exclusive(one, context.witnessed->emplace_back())) return false;
    }
  } catch (const Json::exception&) {
    return false;
  }
  return true;
}

}  // namespace pinfold::harness
