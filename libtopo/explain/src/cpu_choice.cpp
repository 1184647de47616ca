#include "cpu_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/api/pod_level.hpp"

/// How it works: the allocations of the admission are repeated, container by container, with the
/// affinities that it stored. Each is then tried again without the CPUs that the container took, so
/// the alternative is the allocator's own. Which rule was between the two follows from the first
/// level of the machine at which they use different groups.
namespace pinfold::explain_detail {
namespace {

constexpr const char* kCpu = "cpu";

using Groups = std::vector<Machine::Group>;

struct MachineLevel {
  const char* name;
  const Groups& groups;
};

/// Returns the levels at which groups are ordered by their free CPUs, in the allocator's order.
std::vector<MachineLevel> levels_of(const Node& node) {
  const Machine& machine = node.machine();
  const CpuPolicyOptions& options = node.cpu().options();
  const MachineLevel numa{"NUMA node", machine.numa_groups()};
  const MachineLevel socket{"socket", machine.sockets()};
  const bool sockets_first = static_cast<int>(machine.sockets().size()) < machine.numa_with_cpus();
  std::vector<MachineLevel> levels = {sockets_first ? socket : numa, sockets_first ? numa : socket};
  if (options.prefer_align_cpus_by_uncorecache) levels.push_back({"cache", machine.caches()});
  if (!options.distribute_cpus_across_cores) levels.push_back({"core", machine.cores()});
  return levels;
}

/// Returns the first group with some of `cpus` and none of `others`.
const Machine::Group* first_alone(const Groups& groups, const CpuSet& cpus, const CpuSet& others) {
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const Machine::Group& group) {
    return group.cpus.intersects(cpus) && !group.cpus.intersects(others);
  });
  return found == groups.end() ? nullptr : &*found;
}

/// Returns ": NUMA node 0 has 3 free CPUs, NUMA node 1 has 8, and the one with fewer is used
/// first"; "" if something else decided.
std::string rule_between(const Node& node, const CpuSet& free, const CpuSet& taken,
                         const CpuSet& next) {
  if (node.cpu().options().distribute_cpus_across_numa) return "";
  for (const MachineLevel& level : levels_of(node)) {
    const Machine::Group* const first = first_alone(level.groups, taken, next);
    const Machine::Group* const second = first_alone(level.groups, next, taken);
    if (first == nullptr && second == nullptr) continue;
    // Of groups of different sizes, one may be the only one that is free as a whole.
    const bool are_alike =
        first != nullptr && second != nullptr && first->cpus.size() == second->cpus.size();
    if (!are_alike) return "";
    const std::size_t here = free.count_common(first->cpus);
    const std::size_t there = free.count_common(second->cpus);
    const char* const cpus = here == 1 ? "CPU" : "CPUs";
    if (here < there) {
      return fmt::format(
          ": {0} {1} has {2} free {3}, {0} {4} has {5}, and the one with fewer is used "
          "first",
          level.name, first->id, here, cpus, second->id, there);
    }
    if (here > there || first->id > second->id) return "";
    return fmt::format(
        ": {0}s {1} and {2} have {3} free {4} each, and the lower number comes first", level.name,
        first->id, second->id, here, cpus);
  }
  return "";
}

/// Returns the CPUs from which the allocator takes first; nullopt: from all.
std::optional<CpuSet> near(const Node& node, const TopologyHint& affinity) {
  if (!affinity.numa) return std::nullopt;
  CpuSet cpus = node.machine().cpus_of_numa(*affinity.numa);
  if (!node.cpu().options().align_by_socket) return cpus;
  CpuSet sockets;
  for (const Machine::Group& socket : node.machine().sockets()) {
    if (socket.cpus.intersects(cpus)) sockets |= socket.cpus;
  }
  return sockets;
}

/// Repeats the allocations of an admission.
class AllocationReplay {
 public:
  AllocationReplay(const Node& node, CpuState state, const PodView& pod)
      : node_(node), state_(std::move(state)), pod_(pod) {}

  /// Repeats that of one container; returns what to say about its choice, "" if there is nothing.
  [[nodiscard]] std::string step(const Container& container, const TopologyHint& affinity) {
    const CpuState before = state_;
    const auto taken = allocated(state_, container, affinity);
    if (!taken || before.assignments.contains({pod_.uid, container.name})) return "";
    CpuState without = before;
    without.default_set -= *taken;
    without.reusable -= *taken;
    const auto next = allocated(without, container, affinity);
    const auto nearby = near(node_, affinity);
    if (!next || (nearby && !nearby->contains_all(*next))) return "";
    CpuSet free = node_.cpu().free_cpus(before);
    if (before.reusable_pod == pod_.uid) free |= before.reusable;
    if (nearby) free &= *nearby;
    return fmt::format("next would have been CPU{} {}{}", next->size() == 1 ? "" : "s",
                       next->to_string(), rule_between(node_, free, *taken, *next));
  }

 private:
  /// Returns the exclusive CPUs that the container has then; nullopt if it has none.
  [[nodiscard]] std::optional<CpuSet> allocated(CpuState& state, const Container& container,
                                                const TopologyHint& affinity) const {
    if (!node_.cpu().allocate(state, pod_, container, affinity, nullptr)) return std::nullopt;
    const CpuSet* const cpus = state.assignments.find({pod_.uid, container.name});
    return cpus == nullptr ? std::nullopt : std::optional(*cpus);
  }

  const Node& node_;
  CpuState state_;
  const PodView& pod_;
};

/// Inserts a fact after the last one about the object's CPUs.
void insert_fact(Trace& trace, const std::string& object, std::string text) {
  const auto last = std::find_if(
      trace.facts.rbegin(), trace.facts.rend(),
      [&](const TraceFact& fact) { return fact.source == kCpu && fact.object == object; });
  trace.facts.insert(last == trace.facts.rend() ? trace.facts.end() : last.base(),
                     TraceFact{kCpu, object, std::move(text)});
}

}  // namespace

void add_cpu_choices(const Node& node, const NodeState& before, const PodSpec& pod,
                     const Admitted& admitted, Trace& trace) {
  if (!node.cpu().is_static() || is_managed_as_pod(node.gates(), pod)) return;
  const PodView view(pod);
  AllocationReplay replay(node, before.cpu, view);
  for (const Container& container : pod.containers) {
    const TopologyHint* const stored = admitted.next.affinity.find({pod.uid, container.name});
    std::string text = replay.step(container, stored == nullptr ? TopologyHint{} : *stored);
    if (!text.empty()) insert_fact(trace, container.name, std::move(text));
  }
}

}  // namespace pinfold::explain_detail
