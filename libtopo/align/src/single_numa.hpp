#pragma once

#include <span>

#include "merge.hpp"

namespace pinfold::align {

/// The merge of the policy single-numa-node: only preferred hints of one NUMA node, or of any,
/// count. nullopt: no node suits every resource; all nodes: every resource accepts any.
/// With `scores` (prefer-most-allocated-numa-node) the comparison is not transitive, so nodes are
/// compared in the order in which the kubelet's enumeration of all combinations reaches them.
[[nodiscard]] std::optional<NumaMask> merge_single_numa(std::span<const HintsOfResource> resources,
                                                        const MergeRules& rules,
                                                        const AllocationScores* scores);

}  // namespace pinfold::align
