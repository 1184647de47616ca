#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "pinfold/checkpoint/diff.hpp"
#include "pinfold/checkpoint/without_pod_entries.hpp"
#include "pinfold/memory/count_again.hpp"
#include "pinfold/types/named.hpp"
#include "repair_states.hpp"

namespace pinfold::checkpoint {
namespace {

using Blocks = std::vector<MemoryBlock>;
using Machine = std::map<std::int32_t, NodeMemory>;
using Ids = std::vector<std::int32_t>;

/// Removes memory that the machine does not have.
void fit(const std::string& object, Blocks& blocks, const Machine& machine, Notes& notes) {
  for (auto block = blocks.begin(); block != blocks.end();) {
    std::erase_if(block->numa_affinity, [&](std::int32_t id) {
      if (machine.contains(id)) return false;
      notes.lost.push_back(
          {object, fmt::format("{} on NUMA node {}: not on this machine", block->type, id)});
      return true;
    });
    const bool exists =
        std::any_of(block->numa_affinity.begin(), block->numa_affinity.end(),
                    [&](std::int32_t id) { return machine.at(id).tables.contains(block->type); });
    if (!exists) {
      notes.lost.push_back({object, fmt::format("{} of {}: its NUMA nodes have no such memory",
                                                bytes_named(block->size), block->type)});
    }
    block = exists ? std::next(block) : blocks.erase(block);
  }
}

void fit_all(MemoryCheckpoint& state, const Machine& machine, Notes& notes) {
  std::set<ContainerId> emptied;
  state.assignments.change_all([&](const ContainerId& id, Blocks& blocks) {
    const bool had_any = !blocks.empty();
    fit(to_string(id), blocks, machine, notes);
    if (had_any && blocks.empty()) emptied.insert(id);
  });
  state.assignments.erase_if([&](const auto& entry) { return emptied.contains(entry.id()); });
  for (auto pod = state.pods.begin(); pod != state.pods.end();) {
    fit(pod->first.value, pod->second, machine, notes);
    pod = pod->second.empty() ? state.pods.erase(pod) : std::next(pod);
  }
}

template <class Visit>
void for_each_block(MemoryCheckpoint& state, const Visit& visit) {
  state.assignments.change_all([&](const ContainerId& id, std::vector<MemoryBlock>& blocks) {
    for (MemoryBlock& block : blocks) visit(to_string(id), block);
  });
  for (auto& [pod, blocks] : state.pods) {
    for (MemoryBlock& block : blocks) visit(pod.value, block);
  }
}

/// Joins overlapping groups of NUMA nodes. A NUMA node may belong to one group only; if two
/// overlap, the kubelet accepts the one that it happens to see last.
void join_groups(MemoryCheckpoint& state, Notes& notes) {
  std::map<std::int32_t, std::set<std::int32_t>> group;  // NUMA node to all nodes of its group
  for_each_block(state, [&](const std::string&, const MemoryBlock& block) {
    std::set<std::int32_t> joined(block.numa_affinity.begin(), block.numa_affinity.end());
    for (const std::int32_t id : block.numa_affinity) joined.merge(std::set(group[id]));
    for (const std::int32_t id : std::set(joined)) group[id] = joined;
  });
  for_each_block(state, [&](const std::string& object, MemoryBlock& block) {
    const auto& nodes = group.at(block.numa_affinity.front());
    if (nodes == std::set(block.numa_affinity.begin(), block.numa_affinity.end())) return;
    const Ids wide(nodes.begin(), nodes.end());
    notes.done.push_back(
        {object, fmt::format("{} on {} overlaps another group of NUMA nodes: now on {}", block.type,
                             numa_nodes_named(block.numa_affinity), fmt::join(wide, ","))});
    block.numa_affinity = wide;
  });
}

/// Notes the memory that the containers of a group of NUMA nodes have beyond what it has: they keep
/// it, but it can no longer be where it should.
void note_excess(const MemoryCheckpoint& state, Notes& notes) {
  const Machine& machine = state.machine_state;
  std::map<std::pair<Ids, std::string>, std::uint64_t> held;
  for (const auto& [pod, name, blocks] : state.assignments) {
    for (const MemoryBlock& block : blocks) held[{block.numa_affinity, block.type}] += block.size;
  }
  for (const auto& [place, size] : held) {
    const auto& [ids, type] = place;
    std::uint64_t most = 0;
    for (const std::int32_t id : ids) {
      const auto table = machine.at(id).tables.find(type);
      if (table != machine.at(id).tables.end()) most += table->second.allocatable;
    }
    if (size <= most) continue;
    notes.done.push_back({numa_nodes_named(ids),
                          fmt::format("containers keep {} of {}, more than the {} there for pods",
                                      bytes_named(size), type, bytes_named(most))});
  }
}

}  // namespace

void repair_state(const Node& node, MemoryCheckpoint& state, Notes& notes) {
  if (!node.memory().is_static()) return;
  MemoryState fresh;
  if (!node.memory().start(fresh)) return;  // cannot happen: an empty state always starts
  if (!node.gates().pod_level_resource_managers && !state.pods.empty()) {
    auto older = without_pod_entries(std::move(state));
    state = std::move(older.state);
    notes.lost.insert(notes.lost.end(), older.lost.begin(), older.lost.end());
  }
  fit_all(state, fresh.machine_state, notes);
  std::erase_if(state.pods, [&](const auto& pod) {
    if (state.assignments.contains(pod.first)) return false;
    notes.done.push_back({pod.first.value, "memory that none of its containers holds: released"});
    return true;
  });
  join_groups(state, notes);
  MemoryState trial{state};
  if (node.memory().start(trial) && (!state.machine_state.empty() || state.assignments.empty())) {
    return;
  }
  MemoryCheckpoint rewritten = state;
  rewritten.machine_state = std::move(fresh.machine_state);
  rewritten = count_again(std::move(rewritten), node.gates().pod_level_resource_managers);
  for (const Difference& change : diff(state, rewritten)) {
    notes.done.push_back(
        {change.object,
         fmt::format("{}: was {}", change.after.empty() ? "not on this machine" : change.after,
                     change.before.empty() ? "unknown" : change.before)});
  }
  state = std::move(rewritten);
  if (state.pods.empty()) note_excess(state, notes);
}

}  // namespace pinfold::checkpoint
