#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/place/arena.hpp"
#include "pinfold/place/hints.hpp"

/// The topology manager's merge on plain hints. docs/topology-merge.md shows why the result equals
/// the kubelet's.
namespace pinfold::place {

/// How much of each NUMA node is allocated, in per cent, by position; a manager with an empty list
/// does not take part.
struct Scores {
  std::span<const int> cpu = {};
  std::span<const int> memory = {};
};

struct MergeRules {
  TopologyPolicy policy = TopologyPolicy::kNone;
  int nodes = 0;  ///< of the machine
  /// prefer-closest-numa-nodes: of two masks of equal width, the closer nodes win; row by row. If
  /// empty, the lower mask wins.
  std::span<const std::uint32_t> distances = {};
  /// prefer-most-allocated-numa-node; unless nullptr.
  const Scores* scores = nullptr;

  [[nodiscard]] NumaMask all() const { return NumaMask::all(nodes); }
};

/// Returns the affinity for the hints of all resources, in the kubelet's order of their providers.
/// single-numa-node: only preferred hints with one NUMA node, or any, count; an affinity to every
/// node of the machine is no affinity. best-effort, restricted: the best of all merged hints; if no
/// choice of one hint per resource has a NUMA node in common, every node, not preferred.
[[nodiscard]] TopologyHint merge(std::span<const Hints> resources, const MergeRules& rules,
                                 Arena& arena);

/// Returns the bytes that a merge of so many resources, whose lists have so many hints together,
/// takes from its arena at most.
[[nodiscard]] std::size_t merge_bytes(int nodes, std::size_t resources, std::size_t listed);

/// Returns whether a topology policy admits what it has merged. `affinity` is preferred if all
/// resources are aligned.
/// Source: kubelet 1.36 cm/topologymanager/policy_*.go, canAdmitPodResult.
[[nodiscard]] bool admits(TopologyPolicy policy, const TopologyHint& affinity);

}  // namespace pinfold::place
