#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/api/amounts.hpp"
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
  std::vector<std::int32_t> cells;            ///< OS ids of the NUMA nodes in its group

  friend bool operator==(const NodeMemory&, const NodeMemory&) = default;
};

/// Memory of one kind allocated to a container or pod, on any of the NUMA nodes.
struct MemoryBlock {
  std::vector<std::int32_t> numa_affinity;  ///< OS ids, ascending
  std::string type;                         ///< resource name
  std::uint64_t size = 0;                   ///< bytes

  friend bool operator==(const MemoryBlock&, const MemoryBlock&) = default;
};

/// The part of the memory manager's state that the kubelet keeps in memory_manager_state. NUMA
/// nodes are identified by OS id here, because a restored file may name some that the machine does
/// not have.
struct MemoryCheckpoint {
  std::map<std::int32_t, NodeMemory> machine_state;
  /// Blocks of each container, ordered by resource name.
  ContainerMap<std::vector<MemoryBlock>> assignments;
  /// The blocks of each pod with pod-level resources (pod scope).
  std::map<PodUid, std::vector<MemoryBlock>> pods;

  friend bool operator==(const MemoryCheckpoint&, const MemoryCheckpoint&) = default;
};

/// The state of the memory manager: its checkpoint, and what a restart loses.
struct MemoryState : MemoryCheckpoint {
  /// What standard init containers of a pod leave to later ones that get the same NUMA nodes. Kept
  /// only for the pod that was served last.
  /// Pod to nodes (by position) to resource name to bytes.
  std::map<PodUid, std::map<NumaMask, std::map<std::string, std::uint64_t>>> reusable = {};

  [[nodiscard]] const MemoryCheckpoint& checkpoint() const { return *this; }

  friend bool operator==(const MemoryState&, const MemoryState&) = default;
};

/// Accounts for `blocks` in a machine state, on the lowest NUMA node of each first, as start()
/// expects it. A block that names an unknown NUMA node is skipped.
void take_blocks(std::map<std::int32_t, NodeMemory>& machine_state,
                 const std::vector<MemoryBlock>& blocks);

/// The state with a machine state that has only the assignments of the state, on the same NUMA
/// nodes. With `pod_level_gate`, pod-level blocks count instead of those of the pod's containers.
[[nodiscard]] MemoryCheckpoint count_again(MemoryCheckpoint state, bool pod_level_gate);

/// Checks that the machine state follows from the assignments, for any machine.
/// Errors: kCorrupt with the text of the kubelet's start.
[[nodiscard]] Result<void> check_machine_state(const MemoryCheckpoint& state, bool pod_level_gate);

/// The memory manager with policy `None` or `Static`: immutable, all state is in MemoryState.
/// Borrows the machine, which must outlive it.
class MemoryManager {
 public:
  /// Errors: kInvalidArgument with the kubelet's text for stage `memorymanager` ("the total amount
  /// ... is not equal to the value ... determined by Node Allocatable feature").
  [[nodiscard]] static Result<MemoryManager> make(const Machine& machine, const Config& config,
                                                  const NodeReservation& reservation);

  [[nodiscard]] bool is_static() const { return is_static_; }

  /// The kubelet's start: initialises an empty state, checks a restored one.
  /// Errors: kCorrupt with the kubelet's text.
  [[nodiscard]] Result<void> start(MemoryState& state) const;

  /// All memory resources of the container get the same list: a mask is a hint only if all of them
  /// fit. With more than 16 NUMA nodes not every mask is tried, see for_each_hint_mask.
  [[nodiscard]] ResourceHints container_hints(const MemoryState& state, const PodView& pod,
                                              const Container& container) const;
  /// The same for what the pod's containers need at one time, or for the pod-level request.
  [[nodiscard]] ResourceHints pod_hints(const MemoryState& state, const PodView& pod) const;

  /// For explanations: why pod_hints() offers nothing, if it is not that NUMA nodes have too little
  /// memory; "" otherwise.
  [[nodiscard]] std::string why_no_pod_hints(const PodView& pod) const;
  /// For explanations: the memory that a container, or (nullptr) the pod, needs, each kind, and for
  /// each NUMA node how much is free, and held by containers. Nothing if it needs none.
  [[nodiscard]] std::vector<Amounts> amounts(const MemoryState& state, const PodView& pod,
                                             const Container* container) const;

  /// Allocates a container's memory. A rejection may change the state, as in the kubelet.
  [[nodiscard]] Admission allocate(MemoryState& state, const PodView& pod,
                                   const Container& container, const TopologyHint& affinity,
                                   Trace* trace) const;
  /// Allocates the memory of a pod with pod-level resources and divides it among its containers
  /// (pod scope). Rejects with EmptyPodSharedPoolError if nothing would remain for shared
  /// containers.
  [[nodiscard]] Admission allocate_pod(MemoryState& state, const PodView& pod,
                                       const TopologyHint& affinity, Trace* trace) const;
  /// Releases a container's memory; unknown names are no error.
  void remove_container(MemoryState& state, const ContainerId& container) const;
  /// As the kubelet does when a container starts: drops the memory entries of the standard init
  /// containers before it.
  void container_started(MemoryState& state, const PodSpec& pod,
                         const std::string& container) const;

  /// cpuset.mems of a container as the kubelet writes it: OS ids without ranges, "0,1,2"; "" if
  /// unset.
  [[nodiscard]] std::string cpuset_mems(const MemoryState& state,
                                        const ContainerId& container) const;

  /// For prefer-most-allocated-numa-node: assigned regular memory x 100 / allocatable of each NUMA
  /// position, integer division, 0 if nothing is allocatable. Empty with policy None.
  [[nodiscard]] std::vector<int> allocation_scores(const MemoryState& state) const;

 private:
  MemoryManager() = default;

  /// Bytes by resource name.
  using Requests = std::map<std::string, std::uint64_t>;
  /// The NUMA nodes that a request is taken from, or the kubelet's error. `why`, unless nullptr,
  /// gets the reason for the choice.
  [[nodiscard]] tl::expected<NumaMask, std::string> choose_nodes(const MemoryState& state,
                                                                 const PodUid& pod_uid,
                                                                 const Requests& requests,
                                                                 const TopologyHint& affinity,
                                                                 TraceFact* why) const;
  [[nodiscard]] ResourceHints search_hints(const MemoryState& state, const PodUid& pod_uid,
                                           const Requests& requests) const;
  /// The hints for a container that has `blocks` already; none if its requests have changed.
  [[nodiscard]] ResourceHints regenerate_hints(const std::vector<MemoryBlock>& blocks,
                                               const Requests& requests) const;
  void note_reuse(MemoryState& state, const PodSpec& pod, const Container& container,
                  const std::vector<MemoryBlock>& blocks) const;

  const Machine* machine_ = nullptr;
  FeatureGates gates_;
  Quirks quirks_;
  bool is_static_ = false;
  /// OS id to resource name to reserved bytes.
  std::map<std::int32_t, std::map<std::string, std::uint64_t>> system_reserved_;
};

}  // namespace pinfold
