#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/types/container_id.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/rejection.hpp"

/// Plans a change of a node's configuration or hardware, or a defragmentation, with containers
/// running: docs/reconfigure.md.
namespace pinfold {

/// What a plan does with a container.
enum class Change {
  kKept,              ///< it has what it had
  kMoved,             ///< CPUs or NUMA nodes that it had are replaced
  kBecomesExclusive,  ///< it gets CPUs or NUMA nodes of a manager that gave it none before
  kBecomesShared,     ///< it loses them: the manager gives it none any more
  kKeptAgainstRules,  ///< it has what it had, and the new rules would reject its pod
  kEvicted,           ///< its pod cannot be kept
};
[[nodiscard]] std::string_view to_string(Change change);

struct PlannedContainer {
  ContainerId id;
  Change change = Change::kKept;
  std::optional<CpuSet> cpus_before;  ///< nullopt: the shared pool
  std::optional<CpuSet> cpus_after;
  std::vector<MemoryBlock> memory_before;  ///< empty: any NUMA node
  std::vector<MemoryBlock> memory_after;
  /// CPUs that it has afterwards and did not have, if it had CPUs.
  std::size_t cpus_moved = 0;
  /// Bytes of blocks of which a NUMA node is no longer allowed.
  std::uint64_t bytes_moved = 0;
  std::string why;  ///< one sentence
  /// In the kubelet's words, for kKeptAgainstRules and kEvicted if it would reject the pod.
  std::optional<Rejection> rejection = std::nullopt;

  friend bool operator==(const PlannedContainer&, const PlannedContainer&) = default;
};

/// What a plan costs; the members are compared in this order.
struct PlanCost {
  std::size_t pods_evicted = 0;
  std::size_t pods_against_rules = 0;
  std::size_t containers_moved = 0;
  std::size_t cpus_moved = 0;
  std::uint64_t bytes_moved = 0;

  friend auto operator<=>(const PlanCost&, const PlanCost&) = default;
};

struct PlanOptions {
  /// Pods that the new rules would reject are evicted instead of kept.
  bool evict = false;
  /// How long the search may last; a step is a placement that was tried. The first solution takes
  /// as many steps as it needs.
  std::size_t steps = 1000;
  /// What the pod of a defragmentation has to pass.
  AdmissionChecks checks = AdmissionChecks::kManagers;
};

/// A pod that a kubelet would reject when it starts: the pods before it leave too little of what is
/// allocatable for its requests.
struct ShortOfRequests {
  PodUid pod;
  Rejection why;

  friend bool operator==(const ShortOfRequests&, const ShortOfRequests&) = default;
};

struct ReconfigurationPlan {
  /// Of active pods in the order of their admission and of their start; then those of held pods.
  std::vector<PlannedContainer> containers;
  /// The pods that have to go: no plan evicts fewer, if `optimal`. Held ones last.
  std::vector<PodUid> evicted;
  PlanCost cost;
  /// The search was exhausted: no plan costs less.
  bool optimal = false;
  /// The pods that stay, as far as their managers are concerned, and that a kubelet would reject
  /// because of the requests of all pods, in the order of their admission. None with the profile
  /// `fixed`, which admits no pod again.
  std::vector<ShortOfRequests> short_of_requests;
  /// The state of the new node. As after a restart no affinity is stored.
  NodeState next;
};

/// Plans how the pods of a node go on with another configuration or machine. Devices do not move.
/// Pure and deterministic. Of equal plans it returns the one that it finds first.
/// Errors: kInvalidArgument with the kubelet's text if a kubelet of `to` would not start on any
/// state; kUnsupported if no state was found from which it starts.
[[nodiscard]] Result<ReconfigurationPlan> plan_reconfiguration(const Node& from,
                                                               const NodeState& state,
                                                               const Node& to,
                                                               const PlanOptions& options = {});

/// What each container of `before` has in two states of a node: active pods in the order of their
/// admission and of their start, then held pods. A pod that is not in `after` is evicted. `why` is
/// empty.
[[nodiscard]] std::vector<PlannedContainer> compare_states(const NodeState& before,
                                                           const NodeState& after);
/// The sum over containers.
[[nodiscard]] PlanCost cost_of(const std::vector<PlannedContainer>& containers);

struct DefragmentationPlan {
  /// `next` admits the pod. If not, `next` is the state as it was.
  bool possible = false;
  /// The containers that move, as in a ReconfigurationPlan.
  std::vector<PlannedContainer> moves;
  PlanCost cost;
  /// The search was exhausted: no plan costs less; if not `possible`, there is none.
  bool optimal = false;
  NodeState next;
  /// Why the node rejects the pod now; nullopt if it admits it.
  std::optional<Rejection> rejection;
  /// Why no move can help: the rejection on a node without any other pod, or because of the
  /// requests of all pods.
  std::optional<Rejection> limit;
};

/// Plans the cheapest moves after which decide() admits a pod (`options.checks`). No pod is
/// evicted, and a container that does not move keeps what it has, whether or not the node would
/// admit it again. `options.evict` has no effect. Errors: kInvalidArgument for a pod that is
/// active.
[[nodiscard]] Result<DefragmentationPlan> plan_defragmentation(const Node& node,
                                                               const NodeState& state,
                                                               const PodSpec& pod,
                                                               const PlanOptions& options = {});

}  // namespace pinfold
