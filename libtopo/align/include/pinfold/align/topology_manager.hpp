#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/api/topology_policy.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/ids.hpp"

namespace pinfold {

/// topologyManagerPolicyOptions.
struct TopologyOptions {
  /// prefer-closest-numa-nodes (best-effort, restricted): of two merged hints of equal width, the
  /// one with the smaller average distance wins; without the option, the lower mask. See BestMask
  /// in merge.cpp.
  bool prefer_closest_numa_nodes = false;
  /// prefer-most-allocated-numa-node (single-numa-node; draft KEP): of two NUMA nodes, the more
  /// allocated one wins unless CPU and memory disagree; then the lower one does. See better() in
  /// single_numa.cpp.
  bool prefer_most_allocated_numa_node = false;
  /// max-allowable-numa-nodes: a machine with more NUMA nodes is an error. See make().
  int max_allowable_numa_nodes = 8;

  friend bool operator==(const TopologyOptions&, const TopologyOptions&) = default;
};
inline constexpr std::array<std::string_view, 3> kTopologyOptionNames = {
    "max-allowable-numa-nodes", "prefer-closest-numa-nodes", "prefer-most-allocated-numa-node"};

/// The result of a merge: the affinity, and whether the policy admits it.
struct MergedHint {
  TopologyHint best;
  bool admit = false;

  friend bool operator==(const MergedHint&, const MergedHint&) = default;
};

/// The topology manager: merges the hints of all providers into one affinity. Immutable.
class TopologyManager {
 public:
  /// The machine's NUMA nodes.
  struct Numa {
    int count = 0;
    std::vector<std::vector<std::uint32_t>> distances = {};  ///< empty where unknown
    /// OS ids by position, for explanations; if empty, the positions are the ids.
    std::vector<NumaId> ids = {};
  };

  /// Errors: kInvalidArgument with the kubelet's text for stage `topologymanager`.
  [[nodiscard]] static Result<TopologyManager> make(Numa numa, const Config& config);

  [[nodiscard]] TopologyPolicy policy() const { return policy_; }
  [[nodiscard]] TopologyScope scope() const { return scope_; }
  [[nodiscard]] const TopologyOptions& options() const { return options_; }

  /// Returns the OS id of a NUMA node. Domain: a position of the machine.
  [[nodiscard]] NumaId numa_id(int position) const;

  /// The kubelet's Merge. `providers` are in the kubelet's order (devices, cpu, memory). `scores`
  /// are used only with prefer-most-allocated-numa-node. Cost: docs/topology-merge.md.
  /// Source: kubelet 1.36 cm/topologymanager/policy.go; seeds/000 for the draft option.
  [[nodiscard]] MergedHint merge(std::span<const ResourceHints> providers,
                                 const AllocationScores& scores) const;

 private:
  TopologyManager() = default;
  Numa numa_;
  TopologyPolicy policy_ = TopologyPolicy::kNone;
  TopologyScope scope_ = TopologyScope::kContainer;
  TopologyOptions options_;
  std::vector<std::uint32_t> distances_;  ///< row by row; with prefer-closest-numa-nodes
};

}  // namespace pinfold
