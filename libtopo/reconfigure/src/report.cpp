#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "compare.hpp"
#include "pinfold/memory/count_again.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::planning {
namespace {

/// Returns "CPU 1 is now reserved", "CPUs 1-2 are now reserved".
std::string about_cpus(const CpuSet& cpus, const char* one, const char* more) {
  return fmt::format("{} {}", cpus_named(cpus), one_or_more(cpus, one, more));
}

/// Returns what a container had that the new node cannot give it: "CPUs 0-1 are now reserved"; ""
/// if there is nothing.
std::string what_is_gone(const Node& node, const Part& had) {
  const Part before = verbatim(node, had);
  if (before.cpus) {
    const CpuSet gone = *before.cpus - node.machine().all_cpus();
    if (!gone.empty()) return about_cpus(gone, "no longer exists", "no longer exist");
    const CpuSet reserved = *before.cpus & node.cpu().reserved();
    if (!reserved.empty()) return about_cpus(reserved, "is now reserved", "are now reserved");
  }
  for (const MemoryBlock& block : before.memory) {
    for (const std::int32_t id : block.numa_affinity) {
      if (node.machine().numa_position(NumaId{id})) continue;
      return fmt::format("NUMA node {} no longer exists", id);
    }
  }
  return "";
}

/// Returns why the kubelet would reject the pod: on any node, on the planned one, or on what it
/// has.
std::optional<Rejection> reason(const SearchProblem& problem, const Judge& judge,
                                const PodCase& pod, const NodeState& next) {
  if (pod.rejection) return pod.rejection;
  NodeState without = next;
  without.cpu.assignments.erase(pod.spec().uid);
  without.cpu.pods.erase(pod.spec().uid);
  without.memory.assignments.erase(pod.spec().uid);
  without.memory.pods.erase(pod.spec().uid);
  const Node& node = *problem.node;
  without.cpu.default_set = empty_state(node).cpu.default_set;
  for (const auto& entry : without.cpu.assignments) without.cpu.default_set -= entry.value;
  for (const auto& [uid, cpus] : without.cpu.pods) without.cpu.default_set -= cpus;
  static_cast<MemoryCheckpoint&>(without.memory) =
      count_again(without.memory.checkpoint(), node.gates().pod_level_resource_managers);
  const Decision decision = decide(node, std::move(without), pod.spec());
  if (const auto* const rejected = std::get_if<Rejected>(&decision)) return rejected->why;
  std::vector<Spot> spots;
  for (const Unit& unit : pod.units) {
    if (!unit.had) return std::nullopt;
    spots.push_back(*unit.had);
  }
  const Decision as_it_is = judge.about(pod, spots);
  if (const auto* const rejected = std::get_if<Rejected>(&as_it_is)) return rejected->why;
  return std::nullopt;
}

std::string why_moved(const SearchProblem& problem, const PodCase& pod,
                      const PlannedContainer& moved) {
  if (auto gone = what_is_gone(*problem.node, {moved.cpus_before, moved.memory_before});
      !gone.empty()) {
    return gone;
  }
  for (const Unit& unit : pod.units) {
    if (unit.container != nullptr && unit.container->name != moved.id.name) continue;
    if (!unit.keep_allowed) return "the rules would not admit it with its CPUs and memory";
  }
  if (pod.is_joint && !pod.keep_allowed) {
    return "the rules would not admit its pod with its CPUs and memory";
  }
  return "other containers need its resources";
}

/// A container can lose what one of the managers gave it and keep what the other gave it.
std::string why_shared(const PlannedContainer& container) {
  const bool loses_cpus = container.cpus_before && !container.cpus_after;
  const bool loses_memory = !container.memory_before.empty() && container.memory_after.empty();
  if (loses_cpus && loses_memory) return "the rules no longer give it exclusive resources";
  if (loses_cpus) return "the rules no longer give it exclusive CPUs";
  return container.cpus_after ? "the rules no longer give it NUMA nodes; its CPUs stay exclusive"
                              : "the rules no longer give it NUMA nodes";
}

std::string why(const SearchProblem& problem, const PodCase& pod,
                const PlannedContainer& container) {
  switch (container.change) {
    case Change::kKept:
      return container.cpus_after || !container.memory_after.empty()
                 ? "the rules allow its resources"
                 : "it has no exclusive CPUs or NUMA nodes, before or after";
    case Change::kMoved:
      return why_moved(problem, pod, container);
    case Change::kBecomesExclusive:
      return "the rules give it exclusive resources, which it did not have";
    case Change::kBecomesShared:
      return why_shared(container);
    case Change::kKeptAgainstRules:
      return "the rules would reject its pod, and its resources are still free";
    case Change::kEvicted:
      break;
  }
  const auto gone = what_is_gone(*problem.node, {container.cpus_before, container.memory_before});
  return gone.empty() ? "the rules would reject its pod" : gone + ", and nothing else fits";
}

void report_pod(const SearchProblem& problem, const Judge& judge, const PodCase& pod,
                const PodChoice& choice, const NodeState& next,
                std::vector<PlannedContainer>& containers) {
  const bool is_lost = choice.outcome != Outcome::kPlaced;
  const auto rejection = is_lost ? reason(problem, judge, pod, next) : std::nullopt;
  for (const Container& spec : pod.spec().containers) {
    PlannedContainer container =
        planned({pod.spec().uid, spec.name}, part_of(pod.before, spec.name),
                part_of(choice.after, spec.name));
    if (choice.outcome == Outcome::kVerbatim) container.change = Change::kKeptAgainstRules;
    if (choice.outcome == Outcome::kEvicted) container.change = Change::kEvicted;
    container.why = why(problem, pod, container);
    container.rejection = rejection;
    containers.push_back(std::move(container));
  }
}

void report_held(const SearchProblem& problem, const PodUid& uid,
                 std::vector<PlannedContainer>& containers) {
  const Node& node = *problem.node;
  for (const auto& [name, before] : parts_in(*problem.state, uid)) {
    if (!problem.held_evicted.contains(uid)) {
      const Part after = verbatim(node, before);
      PlannedContainer kept = planned({uid, name}, before, after);
      kept.why = "its pod is not active, and its resources are still free";
      containers.push_back(std::move(kept));
      continue;
    }
    PlannedContainer evicted = planned({uid, name}, before, {});
    evicted.change = Change::kEvicted;
    const std::string gone = what_is_gone(node, before);
    evicted.why =
        fmt::format("its pod is not active, so it cannot move; {}",
                    !gone.empty()                  ? gone
                    : uid == problem.held_for_pool ? "a kubelet needs a shared pool"
                                                   : "not all of what the pod has is free");
    containers.push_back(std::move(evicted));
  }
}

}  // namespace

std::vector<PlannedContainer> report(const SearchProblem& problem, const Judge& judge,
                                     const std::vector<PodChoice>& choices, const NodeState& next) {
  std::vector<PlannedContainer> containers;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    report_pod(problem, judge, problem.pods[i], choices[i], next, containers);
  }
  for (const PodUid& uid : problem.state->held) report_held(problem, uid, containers);
  return containers;
}

}  // namespace pinfold::planning

namespace pinfold {

std::string_view to_string(Change change) {
  switch (change) {
    case Change::kKept:
      return "kept";
    case Change::kMoved:
      return "moved";
    case Change::kBecomesExclusive:
      return "becomes-exclusive";
    case Change::kBecomesShared:
      return "becomes-shared";
    case Change::kKeptAgainstRules:
      return "kept-against-rules";
    case Change::kEvicted:
      return "evicted";
  }
  return "unknown";
}

}  // namespace pinfold
