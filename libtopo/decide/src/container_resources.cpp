#include "pinfold/decide/container_resources.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "derive_linux_resources.hpp"
#include "pinfold/api/pod_level.hpp"

namespace pinfold {
namespace {

bool qualifies_for_exclusive_cpus(const Container& container) {
  return is_guaranteed(container) && container.resources.limits.find("cpu")->second.is_whole();
}

Isolation isolation_of(const Node& node, const NodeState& state, const PodSpec& pod,
                       const Container& container) {
  if (!state.cpu.assignments.contains({pod.uid, container.name})) return Isolation::kHost;
  if (is_managed_as_pod(node.gates(), pod) && !qualifies_for_exclusive_cpus(container)) {
    return Isolation::kPod;
  }
  return Isolation::kContainer;
}

QuotaEnforcement quota_if(const Node& node, bool exclusive) {
  return exclusive && node.gates().disable_cpu_quota_with_exclusive_cpus
             ? QuotaEnforcement::kOffForExclusiveCpus
             : QuotaEnforcement::kEnforced;
}

tl::unexpected<Error> no_pod(const PodUid& pod) {
  return fail(ErrorCode::kNotFound, fmt::format("pod '{}' is not active on this node", pod));
}

ContainerResources resources_of(const Node& node, const NodeState& state, const PodTotals& totals,
                                const Container& spec) {
  const ContainerId container{totals.pod.uid, spec.name};
  ContainerResources out;
  out.name = spec.name;
  if (const CpuSet* cpus = state.cpu.assignments.find(container)) {
    out.cpus = *cpus;
    out.exclusive_cpus = *cpus;
    out.cpuset_cpus = *cpus;
  } else {
    out.cpuset_cpus = state.cpu.default_set;
  }
  const CpuSet* const baseline = baseline_of(state.cpu, container);
  if (baseline != nullptr && *baseline != out.exclusive_cpus) out.baseline = *baseline;
  out.isolation = isolation_of(node, state, totals.pod, spec);
  if (const auto* blocks = state.memory.assignments.find(container)) out.memory = *blocks;
  out.cpuset_mems = node.memory().cpuset_mems(state.memory, container);
  if (const auto* affinity = state.affinity.find(container)) out.affinity = *affinity;
  if (const auto* held = state.devices.assignments.find(container)) out.devices = *held;
  out.linux_resources = container_linux_resources(
      node, totals, spec, quota_if(node, out.isolation == Isolation::kContainer));
  return out;
}

}  // namespace

std::string_view to_string(Isolation isolation) {
  switch (isolation) {
    case Isolation::kContainer:
      return "container";
    case Isolation::kPod:
      return "pod";
    case Isolation::kHost:
      return "host";
  }
  return "unknown";
}

Result<ContainerResources> container_resources(const Node& node, const NodeState& state,
                                               const ContainerId& container) {
  const ActivePod* const pod = state.find(container.pod);
  if (pod == nullptr) return no_pod(container.pod);
  const Container* const spec = pod->spec.find(container.name);
  if (spec == nullptr) {
    return fail(ErrorCode::kNotFound,
                fmt::format("pod '{}' has no container '{}'", container.pod, container.name));
  }
  return resources_of(node, state, PodTotals(node, pod->spec), *spec);
}

std::vector<ContainerResources> all_container_resources(const Node& node, const NodeState& state,
                                                        const ActivePod& pod) {
  const PodTotals totals(node, pod.spec);
  std::vector<ContainerResources> all;
  all.reserve(pod.spec.containers.size());
  for (const Container& container : pod.spec.containers) {
    all.push_back(resources_of(node, state, totals, container));
  }
  return all;
}

Result<LinuxResources> pod_resources(const Node& node, const NodeState& state, const PodUid& uid) {
  const ActivePod* const pod = state.find(uid);
  if (pod == nullptr) return no_pod(uid);
  const auto is_exclusive = [&](const Container& container) {
    return isolation_of(node, state, pod->spec, container) == Isolation::kContainer;
  };
  const auto& containers = pod->spec.containers;
  const bool exclusive = is_managed_as_pod(node.gates(), pod->spec)
                             ? std::all_of(containers.begin(), containers.end(), is_exclusive)
                             : std::any_of(containers.begin(), containers.end(), is_exclusive);
  return pod_linux_resources(node, pod->spec, quota_if(node, exclusive));
}

}  // namespace pinfold
