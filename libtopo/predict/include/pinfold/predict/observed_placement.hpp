#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/decide/node.hpp"
#include "pinfold/decide/node_state.hpp"
#include "pinfold/predict/bound_pods.hpp"

namespace pinfold {

/// Memory that the memory manager has given to a pod from one NUMA node or from several together.
struct MemoryGroup {
  std::vector<std::string> zones;               ///< names, ordered by OS id
  std::map<std::string, std::int64_t> amounts;  ///< resource name to bytes

  friend bool operator==(const MemoryGroup&, const MemoryGroup&) = default;
};

/// Where the exclusive CPUs, devices and memory of a pod are.
struct ObservedPlacement {
  /// Ordered by zone and resource; without devices and memory of no or several NUMA nodes.
  std::vector<ZoneAmount> amounts;
  std::vector<MemoryGroup> memory;  ///< all memory, each group of NUMA nodes once

  friend bool operator==(const ObservedPlacement&, const ObservedPlacement&) = default;
};

/// Returns what all containers of a pod have together, init containers included, as long as their
/// resources are not released. The allocatable amounts minus the placements of all pods are what
/// describe() calls available, except for devices and memory of several NUMA nodes.
[[nodiscard]] ObservedPlacement observed_placement(const Node& node, const NodeState& state,
                                                   const PodUid& pod);

}  // namespace pinfold
