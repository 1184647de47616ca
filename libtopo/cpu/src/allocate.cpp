#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "pinfold/cpu/cpu_manager.hpp"
#include "take.hpp"
#include "whole_cpus.hpp"

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

std::string joined(const cpu::Steps& steps) {
  std::string text;
  for (const std::string& step : steps) text += (text.empty() ? "" : ", ") + step;
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
    return fmt::format("its pod is {}, not Guaranteed", to_string(qos));
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

// full-pcpus-only
Admission CpuManager::check_smt_alignment(const CpuState& state, int count) const {
  if (!options_.full_pcpus_only) return {};
  const int per_core = machine_->cpus_per_core();
  assert(per_core > 0);
  const auto reject = [](const std::string& why) -> Admission {
    return tl::unexpected(Rejection{"SMTAlignmentError", "SMT Alignment Error: " + why});
  };
  if (count % per_core != 0) {
    return reject(
        fmt::format("requested {} cpus not multiple cpus per core = {}", count, per_core));
  }
  // Siblings of reserved CPUs are free, but do not count as whole cores.
  const auto free = static_cast<int>((state.default_set - reserved_cores_).size());
  if (count > free) {
    return reject(
        fmt::format("not enough free physical CPUs: available physical CPUs = {}, requested CPUs = "
                    "{}, CPUs per core = {}",
                    free, count, per_core));
  }
  return {};
}

CpuSet CpuManager::near_affinity(const CpuSet& cpus, NumaMask affinity) const {
  const CpuSet near = machine_->cpus_of_numa(affinity);
  if (!options_.align_by_socket) return cpus & near;
  // align-by-socket
  CpuSet sockets;
  for (const Machine::Group& socket : machine_->sockets()) {
    if (socket.cpus.intersects(near)) sockets |= socket.cpus;
  }
  return cpus & sockets;
}

tl::expected<CpuSet, Rejection> CpuManager::take_out(CpuState& state, const Request& request,
                                                     Trace* trace) const {
  const CpuSet free = available(state) | request.reusable;
  const cpu::TakeRules rules = this->rules();
  cpu::Steps steps;
  cpu::Steps* const record = trace == nullptr ? nullptr : &steps;

  cpu::Taken taken = CpuSet{};
  if (request.affinity) {
    const CpuSet near = near_affinity(free, *request.affinity);
    cpu::TakeRules nearby = rules;
    nearby.affinity_nodes = request.affinity->count();
    taken = cpu::take(nearby, near, std::min(request.count, static_cast<int>(near.size())), record);
  }
  if (taken) {
    const auto rest =
        cpu::take(rules, free - *taken, request.count - static_cast<int>(taken->size()), record);
    if (rest) {
      *taken |= *rest;
    } else {
      taken = tl::unexpected(rest.error());
    }
  }
  if (trace != nullptr) {
    trace->add(kSource, request.object,
               taken ? fmt::format("took CPUs {} of {} free: {}", taken->to_string(), free.size(),
                                   joined(steps))
                     : fmt::format("needs {}, {} free in the shared pool outside the reserved CPUs "
                                   "{}",
                                   request.count, free.size(), reserved_.to_string()));
  }
  if (!taken) return tl::unexpected(Rejection::unexpected(taken.error()));
  state.default_set -= *taken;
  return *taken;
}

Admission CpuManager::allocate(CpuState& state, const PodView& pod, const Container& container,
                               const TopologyHint& affinity, Trace* trace) const {
  if (!is_static_) return {};
  const int count = guaranteed_cpus(pod, container);
  if (count == 0 || !manages(pod)) {
    if (trace != nullptr) {
      trace->add(kSource, container.name,
                 fmt::format("runs in the shared pool, CPUs {}: {}", state.default_set.to_string(),
                             why_shared(pod, container)));
    }
    return {};
  }
  const CpuSet* const known = state.assignments.find({pod.uid, container.name});
  // QUIRK: without the quirk, a container that already has its CPUs needs no free
  // cores.
  if (known == nullptr || quirks_.cores_counted_before_known_cpus) {
    if (auto aligned = check_smt_alignment(state, count); !aligned) {
      if (trace != nullptr) trace->add(kSource, container.name, aligned.error().message);
      return aligned;
    }
  }
  if (known != nullptr) {
    if (trace != nullptr) {
      trace->add(kSource, container.name, "keeps its CPUs " + known->to_string());
    }
    update_reusable(state, pod, container, *known);
    return {};
  }
  PINFOLD_LET(
      auto taken,
      take_out(state, {container.name, count, affinity.numa, reusable_by(state, pod)}, trace));
  update_reusable(state, pod, container, taken);
  state.assignments[{pod.uid, container.name}] = std::move(taken);
  return {};
}

void CpuManager::remove_container(CpuState& state, const ContainerId& container) const {
  if (!is_static_) return;
  const CpuSet* const assigned = state.assignments.find(container);
  if (assigned == nullptr) return;
  CpuSet released = *assigned;
  state.assignments.erase(container);
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
