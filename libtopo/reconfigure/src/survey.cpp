#include "survey.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "pinfold/api/pod_level.hpp"

namespace pinfold::planning {
namespace {

Amounts sizes_of(const std::vector<MemoryBlock>& blocks) {
  Amounts sizes;
  for (const MemoryBlock& block : blocks) sizes[block.type] += block.size;
  return sizes;
}

/// Returns the spot that a unit has; nullopt if it does not have all that it would get, or the node
/// could not provide it.
std::optional<Spot> spot_of(const Node& node, const Unit& unit, const Part& before) {
  Spot spot;
  if (unit.cpus > 0) {
    if (!before.cpus) return std::nullopt;
    spot.cpus = *before.cpus;
  }
  if (!unit.memory.empty()) {
    const auto nodes = nodes_of(node.machine(), before.memory);
    if (!nodes) return std::nullopt;
    spot.memory = *nodes;
  }
  return spot;
}

Unit unit_of(const Node& node, const Container* container, const Part& before, const Part& gets) {
  Unit unit;
  unit.container = container;
  unit.cpus = gets.cpus ? gets.cpus->size() : 0;
  unit.memory = sizes_of(gets.memory);
  if (before.cpus) unit.had_cpus = *before.cpus;
  unit.had = spot_of(node, unit, before);
  return unit;
}

/// Records how a pod that is managed as a whole is divided among its containers.
void note_division(const NodeState& admitted, PodCase& pod) {
  pod.divided = parts_in(admitted, pod.spec().uid);
  pod.is_divided_as_before =
      pod.whole_before.cpus && pod.whole_before.cpus->size() == pod.units.front().cpus;
  for (auto& [name, part] : pod.divided) {
    if (has_ended(*pod.pod, *pod.spec().find(name))) part.memory.clear();
    const Part before = part_of(pod.before, name);
    const bool is_same = before.cpus.has_value() == part.cpus.has_value() &&
                         (!part.cpus || before.cpus->size() == part.cpus->size());
    pod.is_divided_as_before = pod.is_divided_as_before && is_same;
  }
}

/// Adds the units of a pod whose containers are allocated one by one. If the rules are about single
/// containers, each one is judged alone: what decide() does for a container depends on which CPUs
/// it chose for earlier init containers.
void add_containers(const Node& node, const Judge& judge, Neighbours neighbours, PodCase& pod) {
  const bool is_alone = !pod.is_joint && pod.spec().containers.size() > 1 &&
                        qos_class(pod.spec(), node.gates()) == QosClass::kGuaranteed;
  const Decision together = judge.on_empty_node(pod.spec(), neighbours);
  for (const Container& container : pod.spec().containers) {
    const Decision alone =
        is_alone ? judge.on_empty_node(Judge::only(pod.spec(), container)) : together;
    if (const auto* const rejected = std::get_if<Rejected>(&alone)) {
      pod.rejection = rejected->why;
      pod.units.clear();
      return;
    }
    Part gets = part_in(std::get<Admitted>(alone).next, {pod.spec().uid, container.name});
    for (const auto& [type, bytes] : sizes_of(gets.memory)) pod.memory_at_once[type] += bytes;
    const bool ended = has_ended(*pod.pod, container);
    if (ended) gets.memory.clear();
    Unit unit = unit_of(node, &container, part_of(pod.before, container.name), gets);
    unit.has_ended = ended;
    if (unit.cpus > 0 || !unit.memory.empty()) pod.units.push_back(std::move(unit));
  }
  std::stable_partition(pod.units.begin(), pod.units.end(),
                        [](const Unit& unit) { return !unit.is_init(); });
}

/// Adds the unit of a pod that is managed as a whole.
void add_whole(const Node& node, const Judge& judge, PodCase& pod) {
  const Decision decision = judge.on_empty_node(pod.spec());
  if (const auto* const rejected = std::get_if<Rejected>(&decision)) {
    pod.rejection = rejected->why;
    return;
  }
  const NodeState& admitted = std::get<Admitted>(decision).next;
  Unit unit = unit_of(node, nullptr, pod.whole_before, whole_part_in(admitted, pod.spec().uid));
  // For a pod that was not managed as a whole: what its containers had.
  for (const auto& [name, part] : pod.before) {
    if (part.cpus) unit.had_cpus |= *part.cpus;
  }
  if (unit.cpus == 0 && unit.memory.empty()) return;
  pod.units.push_back(std::move(unit));
  note_division(admitted, pod);
}

void judge_what_it_has(PodCase& pod, Judge& judge) {
  std::vector<Spot> spots;
  bool all = true;
  for (Unit& unit : pod.units) {
    if (!unit.had) {
      all = false;
      continue;
    }
    spots.push_back(*unit.had);
    unit.keep_allowed = pod.is_joint || judge.allows(pod, unit, *unit.had);
    all = all && unit.keep_allowed;
  }
  pod.keep_allowed = all && (!pod.is_joint || judge.allows_together(pod, spots));
}

/// Lets held pods keep what they have, as far as the node can still provide it.
void place_held(SearchProblem& problem) {
  const Node& node = *problem.node;
  problem.board = {};
  problem.held_evicted.clear();
  if (node.cpu().is_static()) problem.board.free = node.cpu().allocatable();
  problem.board.memory = empty_state(node).memory;
  for (const PodUid& uid : problem.state->held) {
    Board with_pod = problem.board;
    const bool has_place =
        uid != problem.held_for_pool && take_verbatim(node, uid, parts_in(*problem.state, uid),
                                                      whole_part_in(*problem.state, uid), with_pod);
    if (has_place) {
      problem.board = std::move(with_pod);
    } else {
      problem.held_evicted.insert(uid);
    }
  }
}

/// With strict-cpu-reservation a kubelet does not start if the shared pool is empty.
bool needs_free_cpus(const Node& node) {
  return node.cpu().is_static() && node.cpu().options().strict_cpu_reservation &&
         node.config().quirks().empty_shared_pool_prevents_start;
}

/// Returns the held pod with the fewest exclusive CPUs among those that are kept.
std::optional<PodUid> smallest_held(const SearchProblem& problem) {
  std::optional<PodUid> smallest;
  std::size_t fewest = 0;
  for (const PodUid& uid : problem.state->held) {
    if (problem.held_evicted.contains(uid)) continue;
    CpuSet cpus;
    for (const auto& [name, part] : parts_in(*problem.state, uid)) {
      cpus |= part.cpus.value_or(CpuSet{});
    }
    if (cpus.empty() || (smallest && cpus.size() >= fewest)) continue;
    smallest = uid;
    fewest = cpus.size();
  }
  return smallest;
}

}  // namespace

PodCase survey(const Node& node, const NodeState& state, const ActivePod& pod, Judge& judge,
               Neighbours neighbours) {
  const PodUid& uid = pod.spec.uid;
  PodCase result;
  result.pod = &pod;
  result.before = parts_in(state, uid);
  result.whole_before = whole_part_in(state, uid);
  result.is_whole = is_managed_as_pod(node.gates(), pod.spec) &&
                    node.topology().policy() != TopologyPolicy::kNone &&
                    node.topology().scope() == TopologyScope::kPod;
  result.is_joint = node.topology().policy() != TopologyPolicy::kNone &&
                    node.topology().scope() == TopologyScope::kPod && !result.is_whole &&
                    pod.spec.containers.size() > 1;
  if (result.is_whole) {
    add_whole(node, judge, result);
  } else {
    add_containers(node, judge, neighbours, result);
  }
  if (!result.rejection) judge_what_it_has(result, judge);
  return result;
}

SearchProblem survey(const Node& node, const NodeState& state, Judge& judge) {
  SearchProblem problem;
  problem.node = &node;
  problem.state = &state;
  place_held(problem);
  if (needs_free_cpus(node) && problem.board.free.empty()) {
    problem.held_for_pool = smallest_held(problem);
    if (problem.held_for_pool) place_held(problem);
  }
  problem.pods.reserve(state.pods.size());
  for (const ActivePod& pod : state.pods) {
    problem.pods.push_back(survey(node, state, pod, judge));
  }
  return problem;
}

}  // namespace pinfold::planning
