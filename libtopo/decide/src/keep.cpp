#include "pinfold/decide/keep.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace pinfold {
namespace {

/// Containers of a pod that are decided together: [begin, end) of its list.
struct ContainerRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Scope pod decides about all containers together, scope container about one at a time.
std::vector<ContainerRange> steps_of(const Node& node, const PodSpec& pod) {
  const std::size_t count = pod.containers.size();
  const bool is_joint = node.topology().policy() != TopologyPolicy::kNone &&
                        node.topology().scope() == TopologyScope::kPod;
  if (is_joint) return {{0, count}};
  std::vector<ContainerRange> steps;
  for (std::size_t i = 0; i < count; ++i) steps.push_back({i, i + 1});
  return steps;
}

/// The resources left to the containers of a step: exactly those that they should have.
struct AllowedResources {
  CpuSet cpus;                  ///< empty: no container needs exclusive CPUs
  std::set<std::int32_t> mems;  ///< empty: any
};

/// Returns the room for a step; nullopt if one of its containers cannot keep what it has.
std::optional<AllowedResources> room_for(const Node& node, const NodeState& state,
                                         const PodSpec& pod, const ContainerRange& step,
                                         const Places& places) {
  const PodView view(pod);
  AllowedResources room;
  for (std::size_t i = step.begin; i < step.end; ++i) {
    const Container& container = pod.containers[i];
    const auto place = places.find(container.name);
    if (place == places.end()) continue;
    room.mems.insert(place->second.mems.begin(), place->second.mems.end());
    const int count = node.cpu().guaranteed_cpus(view, container);
    const ContainerId id{pod.uid, container.name};
    if (count == 0 || state.cpu.assignments.find(id) != nullptr) continue;
    const CpuSet& cpus = place->second.cpus;
    if (cpus.size() != static_cast<std::size_t>(count) ||
        !state.cpu.default_set.contains_all(cpus) || room.cpus.intersects(cpus)) {
      return std::nullopt;
    }
    room.cpus |= cpus;
  }
  return room;
}

/// Returns the state after a step in which its containers could use only their room.
std::optional<NodeState> take(const Node& node, const NodeState& state, const PodSpec& part,
                              const AllowedResources& room) {
  NodeState narrow = state;
  if (!room.cpus.empty()) narrow.cpu.default_set = room.cpus;
  for (auto& [id, of_node] : narrow.memory.machine_state) {
    if (room.mems.empty() || room.mems.contains(id)) continue;
    for (auto& [type, table] : of_node.tables) table.free = 0;
  }
  Decision decision = decide(node, std::move(narrow), part);
  auto* const admitted = std::get_if<Admitted>(&decision);
  if (admitted == nullptr) return std::nullopt;
  NodeState next = std::move(admitted->next);
  if (!room.cpus.empty()) next.cpu.default_set |= state.cpu.default_set - room.cpus;
  for (auto& [id, of_node] : next.memory.machine_state) {
    if (!room.mems.empty() && !room.mems.contains(id)) of_node = state.memory.machine_state.at(id);
  }
  return next;
}

/// Returns whether all containers of a step that got CPUs got those of their places.
bool has_places(const NodeState& next, const PodSpec& pod, const ContainerRange& step,
                const Places& places) {
  for (std::size_t i = step.begin; i < step.end; ++i) {
    const std::string& name = pod.containers[i].name;
    const auto place = places.find(name);
    const CpuSet* const cpus = next.cpu.assignments.find({pod.uid, name});
    if (place != places.end() && cpus != nullptr && *cpus != place->second.cpus) return false;
  }
  return true;
}

/// Returns the state in which all containers keep what they have; nullopt if the rules forbid it.
std::optional<NodeState> keep_all(const Node& node, NodeState state, const PodSpec& pod,
                                  const Places& places) {
  state = release_stale(node, std::move(state));
  for (const ContainerRange& step : steps_of(node, pod)) {
    const auto room = room_for(node, state, pod, step, places);
    if (!room) return std::nullopt;
    PodSpec part = pod;
    part.containers.resize(step.end);
    auto next = take(node, state, part, *room);
    if (!next || !has_places(*next, pod, step, places)) return std::nullopt;
    state = *std::move(next);
  }
  return state;
}

}  // namespace

Decision decide_keeping(const Node& node, NodeState state, const PodSpec& pod, const Places& places,
                        Trace* trace, Counts* counts, AdmissionChecks checks) {
  const bool can_keep = !places.empty() && (node.cpu().is_static() || node.memory().is_static());
  if (can_keep) {
    if (auto kept = keep_all(node, state, pod, places)) {
      // The pod already has its resources, so this decision keeps them.
      Trace reasons;
      Counts counted = counts != nullptr ? *counts : Counts{};
      Decision decision = decide(node, *std::move(kept), pod, &reasons, &counted, checks);
      if (std::holds_alternative<Admitted>(decision)) {
        if (trace != nullptr) *trace = std::move(reasons);
        if (counts != nullptr) *counts = counted;
        return decision;
      }
    }
  }
  return decide(node, std::move(state), pod, trace, counts, checks);
}

}  // namespace pinfold
