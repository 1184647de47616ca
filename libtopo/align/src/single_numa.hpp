#pragma once

#include <span>

#include "merge.hpp"

namespace pinfold::align {

/// Merges the hints under single-numa-node: only preferred hints with one NUMA node, or any, count.
/// Returns nullopt if no node suits every resource, and all nodes if every resource accepts any.
/// With `scores` (prefer-most-allocated-numa-node) the comparison is not transitive, so nodes are
/// compared in the order in which the kubelet's enumeration of all combinations reaches them.
[[nodiscard]] std::optional<NumaMask> merge_single_numa(std::span<const HintsOfResource> resources,
                                                        const MergeRules& rules,
                                                        const AllocationScores* scores);

}  // namespace pinfold::align
