#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/api/reservation.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/memory/memory_state.hpp"

namespace pinfold::memory {

using MachineState = std::map<std::int32_t, NodeMemory>;
/// OS id to resource name to bytes.
using SystemReserved = std::map<std::int32_t, std::map<std::string, std::uint64_t>>;

/// Checks reservedMemory against the node's reservation and returns it by NUMA node.
/// Errors: kInvalidArgument with the kubelet's text.
[[nodiscard]] Result<SystemReserved> system_reserved(const Machine& machine, const Config& config,
                                                     const NodeReservation& reservation);

/// Returns the state without assignments. If more is reserved than a NUMA node has, the difference
/// wraps around, as in the kubelet (Quirks::excess_reserved_memory_wraps_around).
[[nodiscard]] MachineState initial_state(const Machine& machine, const SystemReserved& reserved);

/// Counts one assignment on each of the NUMA nodes, makes them a group, and takes `bytes` from the
/// lowest first.
void take(MachineState& state, const std::vector<std::int32_t>& nodes, const std::string& type,
          std::uint64_t bytes);

/// Reverses take for every block.
void release(MachineState& state, const std::vector<MemoryBlock>& blocks);

struct RestoreRules {
  bool with_pod_entries = false;      ///< pod-level blocks count instead of those of containers
  std::uint64_t tolerated_drift = 0;  ///< bytes; see memory_drift_tolerance
};
/// Checks that a restored state follows from its assignments, and returns its machine state: with
/// the sizes of `fresh`, the initial state, if they differ by no more than is tolerated.
/// Errors: kCorrupt with the kubelet's text.
[[nodiscard]] Result<MachineState> restored(const MemoryCheckpoint& state, MachineState fresh,
                                            const RestoreRules& rules);

}  // namespace pinfold::memory
