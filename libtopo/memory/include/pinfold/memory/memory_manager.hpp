#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/reservation.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

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
  std::vector<std::int32_t> cells;            ///< OS ids of the NUMA nodes grouped with this one

  friend bool operator==(const NodeMemory&, const NodeMemory&) = default;
};

/// A piece of memory given to a container or pod: it may lie on any of the nodes.
struct MemoryBlock {
  std::vector<std::int32_t> numa_affinity;  ///< OS ids, ascending
  std::string type;                         ///< resource name
  std::uint64_t size = 0;                   ///< bytes

  friend bool operator==(const MemoryBlock&, const MemoryBlock&) = default;
};

/// What the kubelet keeps in memory_manager_state. NUMA nodes go by OS id here, for a restored file
/// may name nodes that the machine does not have.
struct MemoryCheckpoint {
  std::map<std::int32_t, NodeMemory> machine_state;
  /// Blocks of each container, ordered by resource name.
  ContainerMap<std::vector<MemoryBlock>> assignments;
  /// The blocks of each pod with pod-level resources (pod scope).
  std::map<PodUid, std::vector<MemoryBlock>> pods;

  friend bool operator==(const MemoryCheckpoint&, const MemoryCheckpoint&) = default;
};

/// What the memory manager remembers: its checkpoint, and what a restart forgets.
struct MemoryState : MemoryCheckpoint {
  /// What standard init containers of a pod leave to later ones that get the same nodes; of the
  /// pod served last only.
  /// Pod to nodes (by position) to resource name to bytes.
  std::map<PodUid, std::map<NumaMask, std::map<std::string, std::uint64_t>>> reusable = {};

  [[nodiscard]] const MemoryCheckpoint& checkpoint() const { return *this; }

  friend bool operator==(const MemoryState&, const MemoryState&) = default;
};

/// Counts `blocks` as assigned in a machine state, from the lowest node of each on: what start()
/// expects of a state that has them. A block that names an unknown node is left out.
void take_blocks(std::map<std::int32_t, NodeMemory>& machine_state,
                 const std::vector<MemoryBlock>& blocks);

/// The memory manager with its policy `None` or `Static`: immutable, all state is in MemoryState.
/// Borrows the machine, which must outlive it.
class MemoryManager {
 public:
  /// Errors: kInvalidArgument with the kubelet's text for stage `memorymanager` ("the total amount
  /// ... is not equal to the value ... determined by Node Allocatable feature").
  [[nodiscard]] static Result<MemoryManager> make(const Machine& machine, const Config& config,
                                                  const NodeReservation& reservation);

  [[nodiscard]] bool is_static() const { return is_static_; }

  /// The kubelet's start: fills an empty state, checks one that was restored.
  /// Errors: kCorrupt with the kubelet's text.
  [[nodiscard]] Result<void> start(MemoryState& state) const;

  /// One list for all memory resources of the container: a mask counts only if each of them fits.
  /// On machines of more than 16 NUMA nodes not every mask is tried, see for_each_hint_mask.
  [[nodiscard]] ResourceHints container_hints(const MemoryState& state, const PodSpec& pod,
                                              const Container& container) const;
  /// The same for what the pod's containers need at one time, or for its pod-level request.
  [[nodiscard]] ResourceHints pod_hints(const MemoryState& state, const PodSpec& pod) const;

  /// Gives a container its memory. On a rejection the state may have changed, as the kubelet's
  /// does.
  [[nodiscard]] Admission allocate(MemoryState& state, const PodSpec& pod,
                                   const Container& container, const TopologyHint& affinity,
                                   Trace* trace) const;
  /// Gives a pod with pod-level resources its memory and divides it among its containers (pod
  /// scope). Rejects with EmptyPodSharedPoolError if nothing would be left for shared containers.
  [[nodiscard]] Admission allocate_pod(MemoryState& state, const PodSpec& pod,
                                       const TopologyHint& affinity, Trace* trace) const;
  /// Releases a container's memory; unknown names are no error.
  void remove_container(MemoryState& state, const ContainerId& container) const;
  /// What the kubelet does when a container starts: memory entries of the standard init
  /// containers before it are dropped.
  void container_started(MemoryState& state, const PodSpec& pod,
                         const std::string& container) const;

  /// cpuset.mems of a container as the kubelet writes it: OS ids without ranges, "0,1,2"; "" if
  /// unset.
  [[nodiscard]] std::string cpuset_mems(const MemoryState& state,
                                        const ContainerId& container) const;

  /// For prefer-most-allocated-numa-node: assigned regular memory x 100 / allocatable of each NUMA
  /// position, integer division, 0 if nothing is allocatable. Empty with policy None: no say.
  [[nodiscard]] std::vector<int> allocation_scores(const MemoryState& state) const;

 private:
  MemoryManager() = default;

  /// Bytes by resource name.
  using Requests = std::map<std::string, std::uint64_t>;
  [[nodiscard]] bool fixed() const { return profile_ == Profile::kFixed; }
  /// The nodes that a request is taken from, or the kubelet's reason why there are none.
  [[nodiscard]] tl::expected<NumaMask, std::string> choose_nodes(const MemoryState& state,
                                                                 const PodUid& pod_uid,
                                                                 const Requests& requests,
                                                                 const TopologyHint& affinity,
                                                                 TraceFact* why) const;
  [[nodiscard]] ResourceHints search_hints(const MemoryState& state, const PodUid& pod_uid,
                                           const Requests& requests) const;
  /// The hints that a container had when it got `blocks`; none if it asks for something else now.
  [[nodiscard]] ResourceHints regenerate_hints(const std::vector<MemoryBlock>& blocks,
                                               const Requests& requests) const;
  void note_reuse(MemoryState& state, const PodSpec& pod, const Container& container,
                  const std::vector<MemoryBlock>& blocks) const;

  const Machine* machine_ = nullptr;
  FeatureGates gates_;
  Profile profile_ = Profile::kFixed;
  bool is_static_ = false;
  /// OS id to resource name to reserved bytes.
  std::map<std::int32_t, std::map<std::string, std::uint64_t>> system_reserved_;
};

}  // namespace pinfold
