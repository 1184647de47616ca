#include <algorithm>
#include <utility>

#include "pinfold/memory/count_again.hpp"
#include "problem.hpp"

namespace pinfold::planning {
namespace {

/// Returns the OS ids of the NUMA nodes of all blocks.
std::set<std::int32_t> nodes_in(const Part& part) {
  std::set<std::int32_t> nodes;
  for (const MemoryBlock& block : part.memory) {
    nodes.insert(block.numa_affinity.begin(), block.numa_affinity.end());
  }
  return nodes;
}

bool has_nodes(const MemoryState& memory, const std::vector<std::int32_t>& ids) {
  return std::all_of(ids.begin(), ids.end(),
                     [&](std::int32_t id) { return memory.machine_state.contains(id); });
}

bool take_all(const Node& node, Board& board, const std::vector<MemoryBlock>& blocks) {
  MemoryState& memory = board.memory;
  return std::all_of(blocks.begin(), blocks.end(), [&](const MemoryBlock& block) {
    const bool is_where_it_was =
        std::none_of(block.numa_affinity.begin(), block.numa_affinity.end(),
                     [&](std::int32_t id) { return board.new_memory.contains(id); });
    // QUIRK: a kubelet may have made overlapping groups; the plan makes no new ones.
    const bool can_group = can_be_group(memory, block.numa_affinity) ||
                           (node.quirks().single_node_overwrites_group && is_where_it_was);
    if (!has_nodes(memory, block.numa_affinity) || !can_group ||
        free_bytes(memory, block) < block.size)
      return false;
    take_blocks(memory.machine_state, {block});
    return true;
  });
}

/// Releases the devices of an evicted pod and its resources from hint providers.
void drop_evicted(const Node& node, const PodUid& uid, const std::set<std::string>& names,
                  NodeState& next) {
  for (const std::string& name : names) {
    const ContainerId id{uid, name};
    node.devices().remove_container(next.devices, id);
    for (const auto& provider : node.providers()) {
      const auto value = next.providers.find(provider->name());
      if (value == next.providers.end()) continue;
      provider->release(value->second, id);
      if (value->second.empty()) next.providers.erase(value);
    }
  }
}

/// Returns the containers of a pod that have an assignment of any manager.
std::set<std::string> names_in(const NodeState& state, const PodUid& uid) {
  std::set<std::string> names;
  for (const ContainerId& id : containers_with_assignments(state, uid)) names.insert(id.name);
  if (const auto* const devices = state.devices.assignments.find(uid)) {
    for (const auto& [name, held] : *devices) names.insert(name);
  }
  return names;
}

void add_assignments(const PodUid& uid, const std::map<std::string, Part>& parts, const Part& whole,
                     NodeState& next) {
  for (const auto& [name, part] : parts) {
    if (part.cpus) next.cpu.assignments[{uid, name}] = *part.cpus;
    if (!part.memory.empty()) next.memory.assignments[{uid, name}] = part.memory;
  }
  if (whole.cpus) next.cpu.pods[uid] = *whole.cpus;
  if (!whole.memory.empty()) next.memory.pods[uid] = whole.memory;
}

}  // namespace

std::uint64_t free_bytes(const MemoryState& memory, const MemoryBlock& block) {
  std::uint64_t sum = 0;
  for (const std::int32_t id : block.numa_affinity) {
    const auto node = memory.machine_state.find(id);
    if (node == memory.machine_state.end()) return 0;
    const auto table = node->second.tables.find(block.type);
    if (table != node->second.tables.end()) sum += table->second.free;
  }
  return sum;
}

bool can_be_group(const MemoryState& memory, const std::vector<std::int32_t>& ids) {
  return std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) {
    const auto found = memory.machine_state.find(id);
    return found == memory.machine_state.end() || found->second.number_of_assignments == 0 ||
           found->second.cells == ids;
  });
}

bool has_ended(const ActivePod& pod, const Container& container) {
  if (container.kind != ContainerKind::kInit) return false;
  bool is_later = false;
  for (const Container& other : pod.spec.containers) {
    if (is_later && pod.started.contains(other.name)) return true;
    if (other.name == container.name) is_later = true;
  }
  return false;
}

std::optional<NumaMask> nodes_of(const Machine& machine, const std::vector<MemoryBlock>& blocks) {
  if (blocks.empty()) return std::nullopt;
  NumaMask nodes;
  for (const std::int32_t id : blocks.front().numa_affinity) {
    const auto position = machine.numa_position(NumaId{id});
    if (!position) return std::nullopt;
    nodes = nodes | NumaMask::of(*position);
  }
  const bool same = std::all_of(blocks.begin(), blocks.end(), [&](const MemoryBlock& block) {
    return block.numa_affinity == blocks.front().numa_affinity;
  });
  return same && !nodes.empty() ? std::optional(nodes) : std::nullopt;
}

Part part_of(const std::map<std::string, Part>& parts, const std::string& name) {
  const auto found = parts.find(name);
  return found == parts.end() ? Part{} : found->second;
}

std::size_t moved_cpus(const Part& before, const Part& after) {
  return before.cpus && after.cpus ? (*after.cpus - *before.cpus).size() : 0;
}

std::uint64_t moved_bytes(const Part& before, const Part& after) {
  if (before.memory.empty() || after.memory.empty()) return 0;
  const auto nodes = nodes_in(after);
  std::uint64_t bytes = 0;
  for (const MemoryBlock& block : before.memory) {
    const bool stays = std::all_of(block.numa_affinity.begin(), block.numa_affinity.end(),
                                   [&](std::int32_t id) { return nodes.contains(id); });
    if (!stays) bytes += block.size;
  }
  return bytes;
}

bool is_moved(const Part& before, const Part& after) {
  if (before.cpus && after.cpus && *before.cpus != *after.cpus) return true;
  return !before.memory.empty() && !after.memory.empty() && nodes_in(before) != nodes_in(after);
}

PlanCost cost_of_moves(const PodCase& pod, const std::map<std::string, Part>& after) {
  PlanCost cost;
  for (const auto& [name, part] : after) {
    const Part before = part_of(pod.before, name);
    if (!is_moved(before, part)) continue;
    cost = cost + PlanCost{0, 0, 1, moved_cpus(before, part), moved_bytes(before, part)};
  }
  return cost;
}

std::map<std::string, Part> parts_in(const NodeState& state, const PodUid& uid) {
  std::map<std::string, Part> parts;
  for (const ContainerId& id : containers_with_assignments(state, uid)) {
    parts[id.name] = part_in(state, id);
  }
  return parts;
}

Part part_in(const NodeState& state, const ContainerId& id) {
  Part part;
  if (const CpuSet* const cpus = state.cpu.assignments.find(id)) part.cpus = *cpus;
  if (const auto* const blocks = state.memory.assignments.find(id)) part.memory = *blocks;
  return part;
}

Part whole_part_in(const NodeState& state, const PodUid& uid) {
  Part part;
  if (const auto cpus = state.cpu.pods.find(uid); cpus != state.cpu.pods.end()) {
    part.cpus = cpus->second;
  }
  if (const auto memory = state.memory.pods.find(uid); memory != state.memory.pods.end()) {
    part.memory = memory->second;
  }
  return part;
}

Part verbatim(const Node& node, const Part& before) {
  Part part;
  if (node.cpu().is_static()) part.cpus = before.cpus;
  if (node.memory().is_static()) part.memory = before.memory;
  return part;
}

bool take_verbatim(const Node& node, const PodUid& uid, const std::map<std::string, Part>& parts,
                   const Part& whole, Board& board) {
  const bool counts_whole = node.gates().pod_level_resource_managers;
  CpuSet cpus;
  std::vector<MemoryBlock> blocks;
  for (const auto& [name, before] : parts) {
    const Part part = verbatim(node, before);
    if (part.cpus) cpus |= *part.cpus;
    blocks.insert(blocks.end(), part.memory.begin(), part.memory.end());
  }
  const Part of_pod = counts_whole ? verbatim(node, whole) : Part{};
  if (of_pod.cpus) cpus |= *of_pod.cpus;
  if (!of_pod.memory.empty()) {
    blocks = of_pod.memory;
    board.memory.pods[uid] = of_pod.memory;
  }
  if (!board.free.contains_all(cpus) || !take_all(node, board, blocks)) return false;
  board.free -= cpus;
  return true;
}

NodeState assemble(const SearchProblem& problem, const std::vector<PodChoice>& choices) {
  const Node& node = *problem.node;
  const NodeState& state = *problem.state;
  NodeState next = empty_state(node);
  next.devices = state.devices;
  for (const auto& provider : node.providers()) {
    const auto value = state.providers.find(provider->name());
    if (value != state.providers.end()) next.providers.insert(*value);
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const PodCase& pod = problem.pods[i];
    if (choices[i].outcome == Outcome::kEvicted) {
      std::set<std::string> names;
      for (const Container& container : pod.spec().containers) names.insert(container.name);
      drop_evicted(node, pod.spec().uid, names, next);
      continue;
    }
    next.pods.push_back(*pod.pod);
    add_assignments(pod.spec().uid, choices[i].after, choices[i].whole_after, next);
  }
  const bool counts_whole = node.gates().pod_level_resource_managers;
  for (const PodUid& uid : state.held) {
    if (problem.held_evicted.contains(uid)) {
      drop_evicted(node, uid, names_in(state, uid), next);
      continue;
    }
    next.held.insert(uid);
    std::map<std::string, Part> parts = parts_in(state, uid);
    for (auto& [name, part] : parts) part = verbatim(node, part);
    const Part whole = whole_part_in(state, uid);
    add_assignments(uid, parts, counts_whole ? verbatim(node, whole) : Part{}, next);
  }
  node.cpu().move_baselines(state.cpu.baselines, next.cpu);
  for (const auto& entry : next.cpu.assignments) next.cpu.default_set -= entry.value;
  for (const auto& [uid, cpus] : next.cpu.pods) next.cpu.default_set -= cpus;
  static_cast<MemoryCheckpoint&>(next.memory) = count_again(next.memory.checkpoint(), counts_whole);
  return next;
}

bool starts(const Node& node, const NodeState& state) {
  CpuState cpu = state.cpu;
  MemoryState memory = state.memory;
  return node.cpu().start(cpu) && node.memory().start(memory);
}

}  // namespace pinfold::planning
