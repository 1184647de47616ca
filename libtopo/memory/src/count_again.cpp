#include "pinfold/memory/count_again.hpp"

#include <algorithm>
#include <utility>

#include "machine_state.hpp"

namespace pinfold {
namespace {

/// Returns the machine state without any assignment.
std::map<std::int32_t, NodeMemory> emptied(std::map<std::int32_t, NodeMemory> machine) {
  for (auto& [id, node] : machine) {
    node.number_of_assignments = 0;
    node.cells = {id};
    for (auto& [type, table] : node.tables) {
      table.reserved = 0;
      table.free = table.allocatable;
    }
  }
  return machine;
}

}  // namespace

void take_blocks(std::map<std::int32_t, NodeMemory>& machine_state,
                 const std::vector<MemoryBlock>& blocks) {
  for (const MemoryBlock& block : blocks) {
    const auto& nodes = block.numa_affinity;
    if (std::all_of(nodes.begin(), nodes.end(),
                    [&](std::int32_t id) { return machine_state.contains(id); })) {
      memory::take(machine_state, nodes, block.type, block.size);
    }
  }
}

MemoryCheckpoint count_again(MemoryCheckpoint state, bool pod_level_gate) {
  state.machine_state = emptied(std::move(state.machine_state));
  for (const auto& [pod, containers] : state.assignments.by_pod()) {
    const auto whole = state.pods.find(pod);
    if (pod_level_gate && whole != state.pods.end() && !whole->second.empty()) {
      take_blocks(state.machine_state, whole->second);
      continue;
    }
    for (const auto& [name, blocks] : containers) take_blocks(state.machine_state, blocks);
  }
  return state;
}

Result<void> check_machine_state(const MemoryCheckpoint& state, bool pod_level_gate) {
  PINFOLD_TRY(memory::restored(state, emptied(state.machine_state), {pod_level_gate, 0}));
  return {};
}

}  // namespace pinfold
