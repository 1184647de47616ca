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
#include "pinfold/memory/memory_state.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

namespace pinfold {

/// The memory manager with policy `None` or `Static`. Immutable: all state is in MemoryState.
/// Borrows the machine, which must outlive it.
class MemoryManager {
 public:
  /// Makes a manager. Errors: kInvalidArgument with the kubelet's text for stage `memorymanager`
  /// ("the total amount ... is not equal to the value ... determined by Node Allocatable feature").
  [[nodiscard]] static Result<MemoryManager> make(const Machine& machine, const Config& config,
                                                  const NodeReservation& reservation);

  [[nodiscard]] bool is_static() const { return is_static_; }

  /// Starts like the kubelet: initialises an empty state, checks a restored one. Within
  /// memory_drift_tolerance a restored state is counted again with the present sizes of memory.
  /// Errors: kCorrupt with the kubelet's text.
  [[nodiscard]] Result<void> start(MemoryState& state) const;

  /// Returns a container's hints. All its memory resources have the same list: a mask is a hint
  /// only if all of them fit. With more than 16 NUMA nodes not every mask is tried, see
  /// for_each_hint_mask, and under the topology policy single-numa-node only single NUMA nodes.
  [[nodiscard]] ResourceHints container_hints(const MemoryState& state, const PodView& pod,
                                              const Container& container) const;
  /// Like container_hints, for the pod-level request or the most that the containers need at one
  /// time.
  [[nodiscard]] ResourceHints pod_hints(const MemoryState& state, const PodView& pod) const;

  /// For explanations: returns why pod_hints() has no hints, if the reason is anything but too
  /// little memory on the NUMA nodes; "" otherwise.
  [[nodiscard]] std::string why_no_pod_hints(const PodView& pod) const;
  /// For explanations: returns each kind of memory that a container (or with nullptr the pod) needs
  /// and, for each NUMA node, how much of it is free and held by containers. What init containers
  /// of the pod left there is free. Empty if it needs none.
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
  /// Releases a container's memory; ignores unknown names.
  void remove_container(MemoryState& state, const ContainerId& container) const;
  /// Drops the memory entries of the standard init containers before `container`, as the kubelet
  /// does when a container starts.
  void container_started(MemoryState& state, const PodSpec& pod,
                         const std::string& container) const;

  /// Returns a container's cpuset.mems as the kubelet writes it: OS ids without ranges, "0,1,2"; ""
  /// if unset.
  [[nodiscard]] std::string cpuset_mems(const MemoryState& state,
                                        const ContainerId& container) const;

  /// Returns how much of each kind of memory is assigned, for each NUMA position; empty with policy
  /// None.
  [[nodiscard]] UsageByResource usage(const MemoryState& state) const;

 private:
  MemoryManager() = default;

  /// Bytes by resource name.
  using Requests = std::map<std::string, std::uint64_t>;
  /// Returns the NUMA nodes that provide a request, or the kubelet's error. Sets `why`, unless
  /// nullptr, to the reason for the choice.
  [[nodiscard]] tl::expected<NumaMask, std::string> choose_nodes(const MemoryState& state,
                                                                 const PodUid& pod_uid,
                                                                 const Requests& requests,
                                                                 const TopologyHint& affinity,
                                                                 TraceFact* why) const;
  [[nodiscard]] ResourceHints search_hints(const MemoryState& state, const PodUid& pod_uid,
                                           const Requests& requests) const;
  /// Returns the hints for a container that already has `blocks`; none if its requests have
  /// changed.
  [[nodiscard]] ResourceHints regenerate_hints(const std::vector<MemoryBlock>& blocks,
                                               const Requests& requests) const;
  /// Returns what init containers of the pod left on exactly these NUMA nodes.
  [[nodiscard]] static std::uint64_t reusable_bytes(const MemoryState& state, const PodUid& pod_uid,
                                                    NumaMask nodes, const std::string& type);
  void note_reuse(MemoryState& state, const PodSpec& pod, const Container& container,
                  const std::vector<MemoryBlock>& blocks) const;

  const Machine* machine_ = nullptr;
  FeatureGates gates_;
  Quirks quirks_;
  bool is_static_ = false;
  std::uint64_t tolerated_drift_ = 0;  ///< see memory_drift_tolerance
  int widest_hint_ = NumaMask::kMaxNodes;
  /// OS id to resource name to reserved bytes.
  std::map<std::int32_t, std::map<std::string, std::uint64_t>> system_reserved_;
};

}  // namespace pinfold
