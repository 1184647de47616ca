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

/// Plans a change of a node's configuration or hardware, or a defragmentation, while containers
/// run; see docs/reconfigure.md.
namespace pinfold {

/// What a plan does with a container.
enum class Change {
  kKept,              ///< it keeps what it has
  kMoved,             ///< some of its CPUs or NUMA nodes are replaced
  kBecomesExclusive,  ///< it gets CPUs or NUMA nodes from a manager that gave it none before
  kBecomesShared,     ///< a manager that gave it CPUs or NUMA nodes no longer does
  kKeptAgainstRules,  ///< it keeps what it has, although the new rules would reject its pod
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
  /// Number of CPUs that it gains, if it had CPUs before.
  std::size_t cpus_moved = 0;
  /// Bytes of the blocks that lose a NUMA node.
  std::uint64_t bytes_moved = 0;
  std::string why;  ///< one sentence
  /// In the kubelet's words, for kKeptAgainstRules and kEvicted if the kubelet would reject the
  /// pod.
  std::optional<Rejection> rejection = std::nullopt;

  friend bool operator==(const PlannedContainer&, const PlannedContainer&) = default;
};

/// The cost of a plan. Costs are compared member by member, in this order.
struct PlanCost {
  std::size_t pods_evicted = 0;
  std::size_t pods_against_rules = 0;
  std::size_t containers_moved = 0;
  std::size_t cpus_moved = 0;
  std::uint64_t bytes_moved = 0;

  friend auto operator<=>(const PlanCost&, const PlanCost&) = default;
};

struct PlanOptions {
  /// Evicts the pods that the new rules would reject, instead of keeping them.
  bool evict = false;
  /// Limit for each pass of the search, in placements tried. In a reconfiguration, the first
  /// solution takes as many steps as it needs.
  std::size_t steps = 1000;
  /// The checks that the pod of a defragmentation has to pass.
  AdmissionChecks checks = AdmissionChecks::kManagers;
};

/// A pod that a starting kubelet would reject, because the pods before it leave too little of what
/// is allocatable for its requests.
struct ShortOfRequests {
  PodUid pod;
  Rejection why;

  friend bool operator==(const ShortOfRequests&, const ShortOfRequests&) = default;
};

struct ReconfigurationPlan {
  /// Those of active pods in the order of admission and start, then those of held pods.
  std::vector<PlannedContainer> containers;
  /// The pods that have to be evicted, held ones last. If `optimal`, no plan evicts fewer.
  std::vector<PodUid> evicted;
  PlanCost cost;
  /// True if the search was exhausted, so that no plan costs less.
  bool optimal = false;
  /// The pods that stay as far as their managers are concerned, but that a kubelet would reject
  /// because of the requests of all pods, in the order of admission. None with the profile `fixed`,
  /// which does not readmit pods.
  std::vector<ShortOfRequests> short_of_requests;
  /// The state of the new node. No affinity is stored, as after a restart.
  NodeState next;
};

/// Plans how the pods of a node continue with another configuration or machine. Devices do not
/// move. Pure and deterministic. Among equal plans, returns the one that it finds first.
/// Errors: kInvalidArgument with the kubelet's text if a kubelet of `to` would not start from any
/// state; kUnsupported if no state was found that it starts from.
[[nodiscard]] Result<ReconfigurationPlan> plan_reconfiguration(const Node& from,
                                                               const NodeState& state,
                                                               const Node& to,
                                                               const PlanOptions& options = {});

/// Compares what each container of `before` has in two states of a node: active pods in the order
/// of admission and start, then held pods. A pod that is not in `after` is evicted. `why` is empty.
[[nodiscard]] std::vector<PlannedContainer> compare_states(const NodeState& before,
                                                           const NodeState& after);
/// Returns the sum of the costs of the containers.
[[nodiscard]] PlanCost cost_of(const std::vector<PlannedContainer>& containers);

struct DefragmentationPlan {
  /// True if `next` admits the pod. If not, `next` is the unchanged state.
  bool possible = false;
  /// The containers that move, as in a ReconfigurationPlan.
  std::vector<PlannedContainer> moves;
  PlanCost cost;
  /// True if the search was exhausted: no plan costs less or, if not `possible`, there is none.
  bool optimal = false;
  NodeState next;
  /// Why the node rejects the pod before any move; nullopt if it admits it.
  std::optional<Rejection> rejection;
  /// Why no move can help: the rejection on a node without any other pod, or because of the
  /// requests of all pods.
  std::optional<Rejection> limit;
};

/// PlanOptions::steps with which most searches for such a plan end in a tenth of a second.
inline constexpr std::size_t kDefragmentationSteps = 5000;

/// Plans the cheapest moves after which decide() admits a pod (with `options.checks`). Evicts no
/// pod, and a container that does not move keeps what it has, whether or not the node would admit
/// it again. If the search ends early, also tries to move each pod alone, up to `options.steps`
/// pods with a tenth of the steps each. Each NUMA node beyond 12 doubles the cost of a step, and
/// halves the number of steps. Ignores `options.evict`. Errors: kInvalidArgument for a pod that is
/// active or held.
[[nodiscard]] Result<DefragmentationPlan> plan_defragmentation(const Node& node,
                                                               const NodeState& state,
                                                               const PodSpec& pod,
                                                               const PlanOptions& options = {});

}  // namespace pinfold
