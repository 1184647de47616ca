#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/types/container_map.hpp"
#include "pinfold/types/ids.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold {

/// Bytes of one kind of memory ("memory", "hugepages-2Mi") on one NUMA node.
struct MemoryTable {
  std::uint64_t total = 0;
  std::uint64_t system_reserved = 0;
  std::uint64_t allocatable = 0;
  std::uint64_t reserved = 0;
  std::uint64_t free = 0;

  friend bool operator==(const MemoryTable&, const MemoryTable&) = default;
};

struct NodeMemory {
  int number_of_assignments = 0;
  std::map<std::string, MemoryTable> tables;  ///< by resource name
  std::vector<std::int32_t> cells;            ///< OS ids of the NUMA nodes in its group

  friend bool operator==(const NodeMemory&, const NodeMemory&) = default;
};

/// Memory of one kind allocated to a container or pod, from any of the listed NUMA nodes.
struct MemoryBlock {
  std::vector<std::int32_t> numa_affinity;  ///< OS ids, ascending
  std::string type;                         ///< resource name
  std::uint64_t size = 0;                   ///< bytes

  friend bool operator==(const MemoryBlock&, const MemoryBlock&) = default;
};

/// The part of the memory manager's state that the kubelet keeps in memory_manager_state. NUMA
/// nodes are identified by OS id, because a restored file may name some that the machine does not
/// have.
struct MemoryCheckpoint {
  std::map<std::int32_t, NodeMemory> machine_state;
  /// Blocks of each container, ordered by resource name.
  ContainerMap<std::vector<MemoryBlock>> assignments;
  /// The blocks of each pod with pod-level resources (pod scope).
  std::map<PodUid, std::vector<MemoryBlock>> pods;

  friend bool operator==(const MemoryCheckpoint&, const MemoryCheckpoint&) = default;
};

/// The state of the memory manager: its checkpoint, and the part that a restart loses.
struct MemoryState : MemoryCheckpoint {
  /// What standard init containers leave to later containers of the pod on the same NUMA nodes.
  /// Kept only for the pod that was served last.
  /// Maps pod to nodes (by position) to resource name to bytes.
  std::map<PodUid, std::map<NumaMask, std::map<std::string, std::uint64_t>>> reusable = {};

  [[nodiscard]] const MemoryCheckpoint& checkpoint() const { return *this; }

  friend bool operator==(const MemoryState&, const MemoryState&) = default;
};

}  // namespace pinfold
