#include "pinfold/decide/fields.hpp"

#include <fmt/format.h>

#include <array>

#include "pinfold/memory/fields.hpp"

namespace pinfold {

using fields::Fields;
namespace {

/// Describes memory nodes. A container has them in the kubelet's notation, "0,1", in which they go
/// into its OCI configuration; JSON has the kernel's list format.
void describe_mems(Fields& fields, std::string& nodes) {
  CpuSet mems = CpuSet::parse(nodes).value_or(CpuSet());
  fields.member("mems", mems, "Desired memory nodes; \"\": any.");
  if (!fields.reads()) return;
  nodes.clear();
  for (const CpuId id : mems) nodes += fmt::format("{}{}", nodes.empty() ? "" : ",", id.value);
}

}  // namespace

std::span<const Isolation> enumerators(Isolation /*type*/) {
  static constexpr std::array kAll = {Isolation::kContainer, Isolation::kPod, Isolation::kHost};
  return kAll;
}

void describe(Fields& fields, ContainerResources& container) {
  fields.type("Container", "A container in its pod, and its resources.");
  fields.member("name", container.name, "Unique within the pod.");
  fields.member("isolation", container.isolation,
                "Who shares its CPUs: \"container\": none, they are exclusive; \"pod\": the "
                "containers in the pod shared pool; \"host\": all containers in the node's shared "
                "pool.");
  fields.member("cpus", container.cpuset_cpus,
                "Desired cpuset.cpus; \"\": any CPU, in a simulation the shared pool.");
  fields.member("exclusiveCpus", container.exclusive_cpus,
                "Its exclusive CPUs, or those of the pod shared pool; \"\": none.");
  fields.if_set("baselineCpus", container.baseline,
                "Of a resized container: those of its exclusive CPUs that it had at its admission, "
                "which no resize takes away.");
  describe_mems(fields, container.cpuset_mems);
  fields.member("memory", container.memory, "The memory that it holds.");
  fields.member("devices", container.devices, "Ids of its devices by resource.");
}

void describe(Fields& fields, MemoryQos& qos) {
  fields.type("MemoryQos", "The protection and throttling of memory on cgroup v2, as configured.");
  fields.member("minBytes", qos.min, "memory.min: 0: no protection.");
  fields.member("lowBytes", qos.low, "memory.low: 0: no protection.");
  fields.if_set("highBytes", qos.high, "memory.high; absent: no throttling.");
}

void describe(Fields& fields, LinuxResources& resources) {
  fields.member("cpuQuota", resources.cpu_quota,
                "Desired CFS quota in microseconds; 0: no limit; -1: no limit because its CPUs are "
                "exclusive; null: none is set.");
  fields.member("cpuPeriod", resources.cpu_period, "Desired CFS period in microseconds.");
  fields.member("cpuShares", resources.cpu_shares, "Desired CPU shares, as of cgroup v1.");
  fields.computed("cpuWeight", cpu_weight_runtime(resources.cpu_shares),
                  "Desired cpu.weight of cgroup v2.");
  fields.member("memoryLimitBytes", resources.memory_limit, "Desired limit; null: none.");
  fields.if_set("memoryQos", resources.memory_qos, "Desired protection and throttling of memory.");
  fields.member("hugepageLimitBytes", resources.hugepage_limits,
                "Desired limits by the hugetlb controller's name of the page size, \"2MB\".");
  fields.member("oomScoreAdj", resources.oom_score_adj, "Desired oom_score_adj; null: unchanged.");
}

std::span<const ResizeReason> enumerators(ResizeReason /*type*/) {
  static constexpr std::array kAll = {ResizeReason::kDeferred, ResizeReason::kInfeasible};
  return kAll;
}

void describe(Fields& fields, NotResized& refused) {
  fields.type("NotResized", "Why a resize was refused.");
  fields.member("reason", refused.reason,
                "As of the kubelet's condition PodResizePending. \"Deferred\": other pods use what "
                "it lacks.");
  fields.member("rejection", refused.why, "");
  fields.member("advice", refused.advice, "What to do; \"\": the message says all.");
}

PodNames names_of_pods(const NodeState& state) {
  PodNames names;
  for (const ActivePod& pod : state.pods) names.emplace(pod.spec.uid, ref_of(pod.spec));
  for (const PodUid& uid : state.held) names.emplace(uid, ref_of(state, uid));
  return names;
}

}  // namespace pinfold
