#include "tally.hpp"

#include <algorithm>

#include "pinfold/api/pod_level.hpp"

namespace pinfold {

Tally::Tally(const Node& node, const NodeState& state, const PodView& pod, Counts* counts)
    : node_(node), state_(state), pod_(pod), counts_(counts) {
  const FeatureGates& gates = node.gates();
  is_managed_ = qos_class(pod, gates) == QosClass::kGuaranteed && is_manageable(gates, pod);
}

bool Tally::guarantees_numa() const {
  return node_.topology().policy() == TopologyPolicy::kSingleNumaNode;
}

void Tally::no_affinity(const Container* container) {
  if (!guarantees_numa()) return;
  add(container == nullptr ? Counter::kMisalignedNumaPod : Counter::kMisalignedNumaContainer);
}

void Tally::aligned(const Container* container) {
  if (!guarantees_numa()) return;
  add(container == nullptr ? Counter::kAlignedNumaPod : Counter::kAlignedNumaContainer);
}

void Tally::rejected() {
  if (node_.topology().policy() != TopologyPolicy::kNone) add(Counter::kTopologyErrors);
}

void Tally::begin(const Container* container) {
  if (counts_ == nullptr) return;
  if (container != nullptr) {
    had_cpus_ = state_.cpu.assignments.find({pod_.uid, container->name}) != nullptr;
    had_memory_ = state_.memory.assignments.find({pod_.uid, container->name}) != nullptr;
    return;
  }
  const auto cpus = state_.cpu.pods.find(pod_.uid);
  pod_had_ = cpus == state_.cpu.pods.end() ? CpuSet{} : cpus->second;
  had_memory_ = state_.memory.pods.contains(pod_.uid);
}

void Tally::cpu_done(const Container* container, const Admission& result) {
  if (counts_ == nullptr || !node_.cpu().is_static() || !is_managed_) return;
  if (container == nullptr) return cpu_of_pod(result);
  if (node_.cpu().guaranteed_cpus(pod_, *container) > 0) cpu_of_container(*container, result);
}

void Tally::cpu_of_container(const Container& container, const Admission& result) {
  const bool whole_cores = node_.cpu().options().full_pcpus_only;
  add(Counter::kCpuPinningRequests);
  if (!result) {
    add(Counter::kCpuPinningErrors);
    add(Counter::kCpuErrorsNode);
    if (whole_cores) add(Counter::kMisalignedPhysicalCpu);
    return;
  }
  if (whole_cores) add(Counter::kAlignedPhysicalCpu);
  if (had_cpus_) return;
  add(Counter::kCpuFromNode);
  add(Counter::kCpuNodeExclusive);
  note_uncore_cache(*state_.cpu.assignments.find({pod_.uid, container.name}));
}

void Tally::cpu_of_pod(const Admission& result) {
  if (!result) {
    add(Counter::kCpuPinningErrors);
    add(Counter::kCpuErrorsPod);
    return;
  }
  const auto cpus = state_.cpu.pods.find(pod_.uid);
  if (cpus == state_.cpu.pods.end() || cpus->second == pod_had_) return;
  note_uncore_cache(cpus->second);
  for (const Container& container : pod_.containers) {
    const bool is_exclusive = node_.cpu().guaranteed_cpus(pod_, container) > 0;
    if (is_exclusive) add(Counter::kCpuPinningRequests);
    add(is_exclusive ? Counter::kCpuPodExclusive : Counter::kCpuPodShared);
    add(Counter::kCpuFromPod);
  }
}

void Tally::memory_done(const Container* container, const Admission& result) {
  if (counts_ == nullptr || !node_.memory().is_static() || !is_managed_) return;
  add(Counter::kMemoryPinningRequests);
  if (!result) {
    add(Counter::kMemoryPinningErrors);
    add(container == nullptr ? Counter::kMemoryErrorsPod : Counter::kMemoryErrorsNode);
    return;
  }
  if (container == nullptr) return memory_of_pod();
  const auto* const blocks = state_.memory.assignments.find({pod_.uid, container->name});
  if (had_memory_ || blocks == nullptr) return;
  add(Counter::kMemoryFromNode, blocks->size());
  add(Counter::kMemoryNodeExclusive);
}

void Tally::memory_of_pod() {
  if (!state_.memory.pods.contains(pod_.uid)) return;
  // QUIRK: without the quirk, a pod that is admitted again keeps its memory.
  if (had_memory_ && !node_.quirks().readmitted_pod_takes_memory_again) return;
  for (const Container& container : pod_.containers) {
    const bool is_exclusive = is_guaranteed(container);
    // The kubelet counts every init container, and the others if their memory is exclusive.
    if (is_exclusive || container.kind != ContainerKind::kApp) add(Counter::kMemoryPinningRequests);
    add(is_exclusive ? Counter::kMemoryPodExclusive : Counter::kMemoryPodShared);
    add(Counter::kMemoryFromPod);
  }
}

void Tally::note_uncore_cache(const CpuSet& cpus) {
  const Machine& machine = node_.machine();
  const Cpu* const first = cpus.empty() ? nullptr : machine.find(cpus.first());
  const bool share_one = std::all_of(cpus.begin(), cpus.end(), [&](CpuId id) {
    const Cpu* const cpu = machine.find(id);
    return cpu != nullptr && first != nullptr && cpu->l3 == first->l3;
  });
  if (share_one) add(Counter::kAlignedUncoreCache);
}

}  // namespace pinfold
