#include <fmt/format.h>

#include "pinfold/checkpoint/without_pod_entries.hpp"
#include "pinfold/types/named.hpp"
#include "repair_states.hpp"

namespace pinfold::checkpoint {
namespace {

/// Removes CPUs from sets that must not have them.
class Claims {
 public:
  Claims(const Node& node, Notes& notes) : node_(node), notes_(notes) {}

  /// Reduces a set to the CPUs that its pod may have. Returns false if that leaves none.
  bool fit(const std::string& object, CpuSet& cpus, const CpuSet& taken) {
    const bool had_any = !cpus.empty();
    drop(object, cpus, cpus - node_.machine().all_cpus(), "is not on this machine",
         "are not on this machine");
    drop(object, cpus, cpus & node_.cpu().reserved(), "is reserved for the system",
         "are reserved for the system");
    drop(object, cpus, cpus & taken, "also belongs to another pod, which keeps it",
         "also belong to another pod, which keeps them");
    return !cpus.empty() || !had_any;
  }

 private:
  /// Drops CPUs. `one`, `more`: the reason, for one CPU and for several.
  void drop(const std::string& object, CpuSet& cpus, const CpuSet& gone, std::string_view one,
            std::string_view more) {
    if (gone.empty()) return;
    cpus -= gone;
    notes_.lost.push_back(
        {object, fmt::format("{} {}", cpus_named(gone), one_or_more(gone, one, more))});
  }

  const Node& node_;
  Notes& notes_;
};

/// Returns the CPUs of each pod: those of its containers and of its pod-level reservation.
std::map<PodUid, CpuSet> held_by_pods(const CpuCheckpoint& state) {
  std::map<PodUid, CpuSet> held = state.pods;
  for (const auto& [pod, containers] : state.assignments.by_pod()) {
    CpuSet& cpus = held[pod];
    for (const auto& [name, own] : containers) cpus |= own;
  }
  return held;
}

CpuSet held_by_all(const CpuCheckpoint& state) {
  CpuSet held;
  for (const auto& [pod, cpus] : held_by_pods(state)) held |= cpus;
  return held;
}

void fit_all(const Node& node, CpuCheckpoint& state, Notes& notes) {
  Claims claims(node, notes);
  CpuSet taken;
  for (const auto& [pod, ignored] : held_by_pods(state)) {
    CpuSet held;
    if (state.assignments.contains(pod)) {
      auto& containers = state.assignments[pod];
      for (auto it = containers.begin(); it != containers.end();) {
        const bool fits = claims.fit(to_string(ContainerId{pod, it->first}), it->second, taken);
        held |= it->second;
        it = fits ? std::next(it) : containers.erase(it);
      }
      if (containers.empty()) state.assignments.erase(pod);
    }
    if (const auto whole = state.pods.find(pod); whole != state.pods.end()) {
      if (!state.assignments.contains(pod)) {
        notes.done.push_back(
            {pod.value, fmt::format("{} that none of its containers holds: released",
                                    cpus_named(whole->second))});
        state.pods.erase(whole);
      } else if (claims.fit(pod.value, whole->second, taken)) {
        held |= whole->second;
      } else {
        state.pods.erase(whole);
      }
    }
    taken |= held;
  }
}

/// Releases the CPUs of the pod with the fewest: a kubelet needs a shared pool.
void free_one_pod(CpuCheckpoint& state, Notes& notes) {
  const auto held = held_by_pods(state);
  auto least = held.end();
  for (auto it = held.begin(); it != held.end(); ++it) {
    if (it->second.empty()) continue;
    if (least == held.end() || it->second.size() < least->second.size()) least = it;
  }
  if (least == held.end()) return;
  state.assignments.erase(least->first);
  state.pods.erase(least->first);
  state.default_set |= least->second;
  notes.lost.push_back(
      {least->first.value, fmt::format("{}: released, because a kubelet does not start without a "
                                       "shared pool, and no pod has fewer CPUs",
                                       cpus_named(least->second))});
}

/// Returns the CPUs that the kubelet expects in the shared pool or in an assignment.
CpuSet usable_cpus(const Node& node) {
  return node.cpu().options().strict_cpu_reservation ? node.cpu().allocatable()
                                                     : node.machine().all_cpus();
}

}  // namespace

CpuSet in_no_set(const Node& node, const CpuCheckpoint& state) {
  return usable_cpus(node) - state.default_set - held_by_all(state);
}

void repair_state(const Node& node, CpuCheckpoint& state, Notes& notes) {
  if (!node.cpu().is_static()) return;
  if (!node.gates().pod_level_resource_managers && !state.pods.empty()) {
    auto older = without_pod_entries(std::move(state));
    state = std::move(older.state);
    notes.lost.insert(notes.lost.end(), older.lost.begin(), older.lost.end());
  }
  fit_all(node, state, notes);

  const bool strict = node.cpu().options().strict_cpu_reservation;
  const CpuSet before = state.default_set;
  const CpuSet held = held_by_all(state);
  state.default_set = usable_cpus(node) - held;
  const auto note = [&](const CpuSet& cpus, std::string_view one, std::string_view more,
                        std::string_view what) {
    if (cpus.empty()) return;
    notes.done.push_back({"shared pool", fmt::format("{} {} {}", cpus_named(cpus),
                                                     one_or_more(cpus, one, more), what)});
  };
  note(before - node.machine().all_cpus(), "is", "are", "not on this machine: removed");
  note(before & held, "is", "are", "assigned: removed");
  note((before & node.machine().all_cpus()) - held - state.default_set, "is", "are",
       "reserved for the system: removed");
  note(state.default_set - before, "was", "were", "in no set: added");
  state.baselines.erase_if([&](const auto& entry) {
    const CpuSet* const cpus = state.assignments.find(entry.id());
    if (cpus != nullptr && cpus->contains_all(entry.value)) return false;
    notes.done.push_back(
        {to_string(entry.id()),
         fmt::format("baseline {} is not among its CPUs, {}: removed", entry.value.to_string(),
                     cpus == nullptr ? "none" : cpus->to_string())});
    return true;
  });
  const bool needs_pool = !strict || node.quirks().empty_shared_pool_prevents_start;
  if (state.default_set.empty() && !state.assignments.empty() && needs_pool) {
    free_one_pod(state, notes);
  }
}

}  // namespace pinfold::checkpoint
