#pragma once

#include <optional>
#include <span>

#include "pinfold/place/arena.hpp"
#include "pinfold/place/hints.hpp"
#include "pinfold/place/merge_rules.hpp"

namespace pinfold::place {

/// Merges the hints under single-numa-node. Returns nullopt if no node suits every resource, and
/// all nodes if every resource accepts any. With scores the comparison is not transitive, so nodes
/// are compared in the order in which the kubelet's enumeration of all combinations reaches them.
[[nodiscard]] std::optional<NumaMask> merge_single_numa(std::span<const Hints> resources,
                                                        const MergeRules& rules, Arena& arena);

}  // namespace pinfold::place
