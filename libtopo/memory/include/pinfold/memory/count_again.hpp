#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/memory/memory_state.hpp"

/// The machine state that follows from assignments, for code that writes the state of a kubelet.
namespace pinfold {

/// Counts `blocks` into a machine state, filling the lowest NUMA node of each first, as start()
/// expects. Skips a block that names an unknown NUMA node.
void take_blocks(std::map<std::int32_t, NodeMemory>& machine_state,
                 const std::vector<MemoryBlock>& blocks);

/// Rebuilds the machine state from the assignments alone, on the same NUMA nodes. With
/// `pod_level_gate`, pod-level blocks count instead of those of the pod's containers.
[[nodiscard]] MemoryCheckpoint count_again(MemoryCheckpoint state, bool pod_level_gate);

/// Checks that the machine state follows from the assignments, for any machine.
/// Errors: kCorrupt with the text of the kubelet at its start.
[[nodiscard]] Result<void> check_machine_state(const MemoryCheckpoint& state, bool pod_level_gate);

}  // namespace pinfold
