#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cpu_sets.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/types/named.hpp"
#include "whole_cpus.hpp"

// Pods with pod-level resources: one set of CPUs for the pod, divided among its containers.

namespace pinfold {

int CpuManager::pod_guaranteed_cpus(const PodView& pod) const {
  if (is_managed_as_pod(gates_, pod)) {
    if (qos_class(pod, gates_) != QosClass::kGuaranteed) return 0;
    return cpu::whole_cpus(amount_of(pod.resources->requests, "cpu"));
  }
  // Each init container runs at the same time as the sidecars that started before it.
  std::int64_t starting = 0;
  std::int64_t running = 0;
  for (const Container& container : pod.containers) {
    const std::int64_t count = guaranteed_cpus(pod, container);
    if (container.kind == ContainerKind::kInit) {
      starting = std::max(starting, running + count);
    } else {
      running += count;
    }
  }
  return static_cast<int>(
      std::min<std::int64_t>(std::max(starting, running), std::numeric_limits<int>::max()));
}

Admission CpuManager::check_shared_pool(const PodView& pod) const {
  const std::int64_t budget = pod_guaranteed_cpus(pod);
  const auto reject = [](const std::string& why) -> Admission {
    return tl::unexpected(Rejection{"EmptyPodSharedPoolError", "pod rejected, " + why});
  };
  std::int64_t running = 0;
  bool shared = false;
  for (const Container& container : pod.containers) {
    const std::int64_t count = guaranteed_cpus(pod, container);
    if (container.kind != ContainerKind::kInit) {
      shared = shared || count == 0;
      running += count;
    } else if (count > 0 && count > budget - running) {
      return reject(
          fmt::format("largest exclusive init container requests {} cpus, but only {} available",
                      count, budget - running));
    } else if (count == 0 && running >= budget) {
      return reject("pod has shared init containers but no cpus available for them");
    }
  }
  if (shared && running >= budget) {
    return reject(
        "sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared "
        "containers");
  }
  return {};
}

Admission CpuManager::allocate_pod(CpuState& state, const PodView& pod,
                                   const TopologyHint& affinity, Trace* trace) const {
  static const std::string kObject = "pod";
  if (!is_static_) return {};
  const int count = pod_guaranteed_cpus(pod);
  if (count == 0) return {};
  if (auto fits = check_shared_pool(pod); !fits) {
    if (trace != nullptr) trace->add("cpu", kObject, fits.error().message);
    return fits;
  }
  // QUIRK: without the quirk, a pod that is admitted again keeps its CPUs.
  if (!quirks_.readmitted_pod_takes_cpus_again) {
    const auto known = state.pods.find(pod.uid);
    if (known != state.pods.end() && static_cast<int>(known->second.size()) == count) {
      if (trace != nullptr) {
        trace->add("cpu", kObject, "keeps its " + cpus_named(known->second));
      }
      const auto* const parts = state.assignments.find(pod.uid);
      return partition(state, pod, known->second, parts == nullptr ? Parts{} : *parts, trace);
    }
  }
  PINFOLD_TRY(check_cores(state, kObject, count, trace));
  PINFOLD_LET(auto taken, take_out(state, {kObject, count, affinity.numa, {}}, trace));
  state.pods[pod.uid] = taken;
  return partition(state, pod, taken, {}, trace);
}

Admission CpuManager::partition(CpuState& state, const PodView& pod, const CpuSet& pool,
                                Parts parts, Trace* trace) const {
  CpuSet kept;  // the exclusive CPUs that sidecars and app containers already have
  for (const Container& container : pod.containers) {
    const auto part = parts.find(container.name);
    if (part == parts.end() || container.kind == ContainerKind::kInit) continue;
    if (guaranteed_cpus(pod, container) > 0) kept |= part->second;
  }
  CpuSet left = pool;  // without the exclusive CPUs of sidecars and app containers
  for (const Container& container : pod.containers) {
    const int count = guaranteed_cpus(pod, container);
    if (count == 0) {
      // A shared init container gets what the sidecars before it leave; the others share the rest.
      if (container.kind == ContainerKind::kInit) parts.emplace(container.name, left);
      continue;
    }
    auto part = parts.find(container.name);
    if (part == parts.end()) {
      const auto taken = cpu::take(*policy_, left - kept, count);
      if (!taken) return tl::unexpected(Rejection::unexpected(taken.error()));
      part = parts.emplace(container.name, *taken).first;
    }
    if (container.kind != ContainerKind::kInit) left -= part->second;
  }
  for (const Container& container : pod.containers) {
    const auto part = parts.find(container.name);
    const CpuSet& cpus = part == parts.end() ? left : part->second;
    if (trace != nullptr) {
      const bool is_exclusive = guaranteed_cpus(pod, container) > 0;
      trace->add("cpu", container.name,
                 fmt::format("{} {} of the pod's {}", is_exclusive ? "has exclusive" : "shares",
                             cpus_named(cpus), pool.to_string()));
    }
    state.assignments[{pod.uid, container.name}] = cpus;
  }
  return {};
}

}  // namespace pinfold
