#pragma once

#include <span>

#include "merge.hpp"

namespace pinfold::align {

/// The merge of policy single-numa-node: only preferred hints of one node, or of any, count.
/// With `scores` (prefer-most-allocated-numa-node) the comparison is not transitive, so nodes are
/// compared in the order in which the kubelet's enumeration of all combinations comes to them.
[[nodiscard]] std::optional<NumaMask> merge_single_numa(std::span<const Offer> offers,
                                                        const MergeRules& rules,
                                                        const AllocationScores* scores);

}  // namespace pinfold::align
