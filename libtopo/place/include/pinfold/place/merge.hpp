#pragma once

#include <cstddef>
#include <span>

#include "pinfold/place/arena.hpp"
#include "pinfold/place/hints.hpp"
#include "pinfold/place/merge_rules.hpp"

/// The topology manager's merge on plain hints. docs/topology-merge.md shows why the result equals
/// the kubelet's.
namespace pinfold::place {

/// Returns the affinity for the hints of all resources, in the kubelet's order of their providers.
/// single-numa-node: only preferred hints with one NUMA node, or any, count; an affinity to every
/// node of the machine is no affinity. best-effort, restricted: the best of all merged hints; if no
/// choice of one hint per resource has a NUMA node in common, every node, not preferred.
[[nodiscard]] TopologyHint merge(std::span<const Hints> resources, const MergeRules& rules,
                                 Arena& arena);

/// Returns the most bytes that a merge of this many resources, whose lists have this many hints
/// together, takes from its arena.
[[nodiscard]] std::size_t merge_bytes(int nodes, std::size_t resources, std::size_t listed);

/// Returns whether a topology policy admits what it has merged. `affinity` is preferred if all
/// resources are aligned.
/// Source: kubelet 1.36 cm/topologymanager/policy_*.go, canAdmitPodResult.
[[nodiscard]] bool admits(TopologyPolicy policy, const TopologyHint& affinity);

}  // namespace pinfold::place
