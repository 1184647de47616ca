#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
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
  /// numa-allocation-strategy (best-effort, restricted, single-numa-node; alpha in 1.38): of
  /// several merged hints that are equally good, the one whose NUMA nodes are allocated most or
  /// least wins. See HintScore in score.hpp.
  NumaAllocationStrategy numa_allocation_strategy = NumaAllocationStrategy::kNone;
  /// numa-score-weights (alpha in 1.38): by resource name; a resource that is missing has 1.
  std::map<std::string, int, std::less<>> numa_score_weights = {};
  /// max-allowable-numa-nodes: a machine with more NUMA nodes is an error. See make().
  int max_allowable_numa_nodes = 8;

  friend bool operator==(const TopologyOptions&, const TopologyOptions&) = default;
};
inline constexpr std::array<std::string_view, 5> kTopologyOptionNames = {
    "max-allowable-numa-nodes", "prefer-closest-numa-nodes", "prefer-most-allocated-numa-node",
    "numa-allocation-strategy", "numa-score-weights"};

/// Returns whether a profile knows an option: no kubelet has prefer-most-allocated-numa-node, and
/// 1.38 is the first with numa-allocation-strategy and numa-score-weights.
[[nodiscard]] bool knows_topology_option(Profile profile, std::string_view name);

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

  /// Makes a manager. Errors: kInvalidArgument with the kubelet's text for stage `topologymanager`.
  [[nodiscard]] static Result<TopologyManager> make(Numa numa, const Config& config);

  [[nodiscard]] TopologyPolicy policy() const { return policy_; }
  [[nodiscard]] TopologyScope scope() const { return scope_; }
  [[nodiscard]] const TopologyOptions& options() const { return options_; }

  /// Returns the OS id of a NUMA node. Domain: a position of the machine.
  [[nodiscard]] NumaId numa_id(int position) const;

  /// Returns whether merge() uses the usage.
  [[nodiscard]] bool needs_usage() const {
    return options_.prefer_most_allocated_numa_node ||
           options_.numa_allocation_strategy != NumaAllocationStrategy::kNone;
  }
  /// Returns whether only scores and numbers of NUMA nodes decide between two masks.
  [[nodiscard]] bool are_equally_good(NumaMask one, NumaMask other) const;
  /// Merges like the kubelet's Merge. `providers` are in the kubelet's order (devices, cpu,
  /// memory). Cost: docs/topology-merge.md. Source: kubelet 1.36 cm/topologymanager/policy.go; the
  /// proposed code of 1.38 for numa-allocation-strategy; seeds/000 for
  /// prefer-most-allocated-numa-node.
  [[nodiscard]] MergedHint merge(std::span<const ResourceHints> providers,
                                 const UsageByResource& usage) const;

 private:
  TopologyManager() = default;
  [[nodiscard]] std::uint64_t distance(NumaMask mask) const;
  Numa numa_;
  TopologyPolicy policy_ = TopologyPolicy::kNone;
  TopologyScope scope_ = TopologyScope::kContainer;
  TopologyOptions options_;
  std::vector<std::uint32_t> distances_;  ///< row by row; with prefer-closest-numa-nodes
};

}  // namespace pinfold
