#include <fmt/format.h>

#include <algorithm>

#include "cpu_sets.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold {
namespace {

constexpr std::string_view kSource = "cpu";

/// Returns the CPUs of the pod's init containers that its later containers may reuse.
CpuSet reusable_by(const CpuState& state, const PodView& pod) {
  return state.reusable_pod == pod.uid ? state.reusable : CpuSet{};
}

/// Updates the reusable CPUs: those of a standard init container become reusable by the pod's next
/// containers, those of any other container no longer are.
void update_reusable(CpuState& state, const PodView& pod, const Container& container,
                     const CpuSet& cpus) {
  if (state.reusable_pod != pod.uid) {
    state.reusable_pod = pod.uid;
    state.reusable.clear();
  }
  if (container.kind == ContainerKind::kInit) {
    state.reusable |= cpus;
  } else {
    state.reusable -= cpus;
  }
}

/// Describes a step for the trace: "whole socket 1 (CPUs 4-7)".
std::string describe(const place::TakeStep& step, const Machine& machine) {
  const CpuSet set = CpuSet::of_words(step.cpus);
  const std::string cpus = cpus_named(set);
  switch (step.kind) {
    case place::TakeStep::Kind::kWhole: {
      const std::int32_t id =
          step.level == place::Level::kNuma ? machine.numa_id(step.id).value : step.id;
      return fmt::format("whole {} {} ({})", place::to_string(step.level), id, cpus);
    }
    case place::TakeStep::Kind::kWholeCores:
      return fmt::format("whole cores ({})", cpus);
    case place::TakeStep::Kind::kPartOfCache:
      return fmt::format("a part of cache {} ({})", step.id, cpus);
    case place::TakeStep::Kind::kFromNuma:
      return fmt::format("from NUMA node {} {}", machine.numa_id(step.id).value, cpus);
    case place::TakeStep::Kind::kSingle:
      break;
  }
  return fmt::format("{} ({})", one_or_more(set, "a single CPU", "single CPUs"), cpus);
}

std::string joined(const place::TakeSteps& steps, const Machine& machine) {
  std::string text;
  for (const place::TakeStep& step : steps) {
    text += (text.empty() ? "" : ", ") + describe(step, machine);
  }
  return text;
}

}  // namespace

int CpuManager::guaranteed_cpus(const PodView& pod, const Container& container) const {
  if (qos_class(pod, gates_) != QosClass::kGuaranteed) return 0;
  if (is_managed_as_pod(gates_, pod) && !is_guaranteed(container)) return 0;
  return cpu::whole_cpus(amount_of(container.resources.requests, "cpu"));
}

std::string CpuManager::why_shared(const PodView& pod, const Container& container) const {
  if (!is_static_) return "the CPU manager policy is none";
  const QosClass qos = qos_class(pod, gates_);
  if (qos != QosClass::kGuaranteed) {
    return fmt::format("its pod is {}, not Guaranteed: {}", to_string(qos),
                       why_not_guaranteed(pod, gates_));
  }
  if (!manages(pod)) return "its pod has pod-level resources, and PodLevelResourceManagers is off";
  const Quantity request = amount_of(container.resources.requests, "cpu");
  if (cpu::whole_cpus(request) == 0) {
    return request.is_zero()
               ? "it requests no CPUs"
               : fmt::format("its limit of {} is not a whole number of CPUs", request.to_string());
  }
  return "its requests for CPU and memory do not equal its limits";
}

Admission CpuManager::check_cores(const CpuState& state, const std::string& object, int count,
                                  Trace* trace) const {
  place::HeapArena memory(policy_->bytes());
  const auto checked =
      policy_->check_cores(cpu::words_of(state.default_set, *tree_, memory.arena()), count);
  if (checked) return {};
  Rejection rejection = cpu::rejection_of(checked.error());
  if (trace != nullptr) trace->add(kSource, object, rejection.message);
  return tl::unexpected(std::move(rejection));
}

tl::expected<CpuSet, Rejection> CpuManager::take_out(CpuState& state, const Request& request,
                                                     Trace* trace) const {
  place::HeapArena memory(policy_->bytes());
  place::Arena& arena = memory.arena();
  const place::Cpus shared = cpu::words_of(state.default_set, *tree_, arena);
  const place::Cpus reusable = cpu::words_of(request.reusable, *tree_, arena);
  place::TakeSteps steps;
  const place::Taken taken = policy_->choose(
      shared, {.count = request.count, .affinity = request.affinity, .reusable = reusable}, arena,
      trace == nullptr ? nullptr : &steps);
  if (trace != nullptr) {
    const place::Cpus free = policy_->available(shared, arena);
    place::add(free, reusable);
    trace->add(
        kSource, request.object,
        taken ? fmt::format("took {} ({} of {} free): {}", cpus_named(CpuSet::of_words(*taken)),
                            request.count, place::count(free), joined(steps, *machine_))
              : fmt::format("needs {}, {} free in the shared pool outside the reserved {}",
                            request.count, place::count(free), cpus_named(reserved_)));
  }
  if (!taken) return tl::unexpected(cpu::rejection_of(taken.error()));
  CpuSet cpus = CpuSet::of_words(*taken);
  state.default_set -= cpus;
  return cpus;
}

Admission CpuManager::allocate(CpuState& state, const PodView& pod, const Container& container,
                               const TopologyHint& affinity, Trace* trace) const {
  if (!is_static_) return {};
  const int count = guaranteed_cpus(pod, container);
  if (count == 0 || !manages(pod)) {
    if (trace != nullptr) {
      trace->add(kSource, container.name,
                 fmt::format("runs in the shared pool, {}: {}", cpus_named(state.default_set),
                             why_shared(pod, container)));
    }
    return {};
  }
  const CpuSet* const known = state.assignments.find({pod.uid, container.name});
  // QUIRK: without the quirk, a container that already has its CPUs needs no free
  // cores.
  if (known == nullptr || quirks_.cores_counted_before_known_cpus) {
    PINFOLD_TRY(check_cores(state, container.name, count, trace));
  }
  if (known != nullptr) {
    if (trace != nullptr) {
      trace->add(kSource, container.name, "keeps its " + cpus_named(*known));
    }
    update_reusable(state, pod, container, *known);
    return {};
  }
  PINFOLD_LET(
      auto taken,
      take_out(state, {container.name, count, affinity.numa, reusable_by(state, pod)}, trace));
  update_reusable(state, pod, container, taken);
  if (stores_baselines_) state.baselines[{pod.uid, container.name}] = taken;
  state.assignments[{pod.uid, container.name}] = std::move(taken);
  return {};
}

Admission CpuManager::resize(CpuState& state, const PodView& pod, const Container& container,
                             const TopologyHint& affinity, Trace* trace) const {
  const ContainerId id{pod.uid, container.name};
  const int count = guaranteed_cpus(pod, container);
  const CpuSet known = *state.assignments.find(id);
  const CpuSet baseline = *baseline_of(state, id);
  const CpuSet reusable = reusable_by(state, pod);
  place::HeapArena memory(policy_->bytes());
  place::Arena& arena = memory.arena();
  const place::Cpus shared = cpu::words_of(state.default_set | reusable, *tree_, arena);
  const place::Cpus current = cpu::words_of(known, *tree_, arena);
  const place::Cpus own = cpu::words_of(state.default_set | reusable | known, *tree_, arena);
  auto checked = policy_->check_cores(own, count);
  place::TakeSteps steps;
  place::Taken taken = tl::unexpected(place::CpuFailure{});
  if (checked) {
    taken = policy_->resize(shared,
                            {.count = count,
                             .current = current,
                             .baseline = cpu::words_of(baseline, *tree_, arena),
                             .affinity = affinity.numa},
                            arena, trace == nullptr ? nullptr : &steps);
  }
  if (!checked || !taken) {
    Rejection rejection = cpu::rejection_of(checked ? taken.error() : checked.error());
    if (trace != nullptr) trace->add(kSource, container.name, rejection.message);
    return tl::unexpected(std::move(rejection));
  }
  CpuSet cpus = CpuSet::of_words(*taken);
  CpuSet released = known - cpus;
  // What an init container had before stays out of the shared pool until the pod ends.
  for (const auto& [name, of_sibling] : *state.assignments.find(pod.uid)) {
    if (name != container.name) released -= of_sibling;
  }
  if (trace != nullptr) {
    trace->add(
        kSource, container.name,
        count >= static_cast<int>(known.size())
            ? fmt::format("keeps its {} and takes {}: {}", cpus_named(known),
                          (cpus - known).to_string(), joined(steps, *machine_))
            : fmt::format("keeps {}, including {} from its admission, and releases {}",
                          cpus_named(cpus), baseline.to_string(), (known - cpus).to_string()));
  }
  state.default_set -= cpus;
  state.default_set |= released;
  update_reusable(state, pod, container, cpus);
  state.baselines[id] = baseline;
  state.assignments[id] = std::move(cpus);
  return {};
}

void CpuManager::move_baselines(const ContainerMap<CpuSet>& earlier, CpuCheckpoint& to) const {
  for (const auto& entry : earlier) {
    const CpuSet* const cpus = to.assignments.find(entry.id());
    if (cpus == nullptr || to.baselines.contains(entry.id())) continue;
    to.baselines[entry.id()] = moved_baseline(entry.value, *cpus);
  }
}

CpuSet CpuManager::moved_baseline(const CpuSet& baseline, const CpuSet& cpus) const {
  if (!is_static_ || cpus.contains_all(baseline)) return baseline;
  const auto count = static_cast<int>(std::min(baseline.size(), cpus.size()));
  place::HeapArena memory(policy_->bytes());
  place::Arena& arena = memory.arena();
  const auto taken = policy_->resize(cpu::words_of({}, *tree_, arena),
                                     {.count = count,
                                      .current = cpu::words_of(cpus, *tree_, arena),
                                      .baseline = cpu::words_of(baseline & cpus, *tree_, arena)},
                                     arena, nullptr);
  return taken ? CpuSet::of_words(*taken) : cpus;
}

void CpuManager::remove_container(CpuState& state, const ContainerId& container) const {
  if (!is_static_) return;
  const CpuSet* const assigned = state.assignments.find(container);
  if (assigned == nullptr) return;
  CpuSet released = *assigned;
  state.assignments.erase(container);
  state.baselines.erase(container);
  const auto* const siblings = state.assignments.find(container.pod);
  const bool was_last = siblings == nullptr;
  if (!was_last) {
    for (const auto& [name, cpus] : *siblings) released -= cpus;  // still in use by the siblings
  }

  const auto whole_pod = state.pods.find(container.pod);
  if (gates_.pod_level_resource_managers && whole_pod != state.pods.end()) {
    if (!was_last) return;  // the pod's CPUs are released with its last container
    released = whole_pod->second;
    state.pods.erase(whole_pod);
  }
  state.default_set |= released;
}

}  // namespace pinfold
