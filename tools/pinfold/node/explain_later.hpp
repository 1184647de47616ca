#pragma once

#include <span>

#include "pinfold/explain/explanation.hpp"

namespace pinfold::tools {

/// Adds to each remedy that changes a rejected pod or removes others: which pods that the same call
/// admits after it would then be rejected. `before`: the state of the pod's turn.
void name_later_rejections(const Node& node, const NodeState& before,
                           std::span<const PodSpec> admitted_later, Explanation& explanation);

/// Adds, for pods to remove that are not on the node yet but were admitted earlier in the same
/// call, that they must not be admitted before this one.
void name_pods_of_call(std::span<const PodSpec> admitted_before, Explanation& explanation);

}  // namespace pinfold::tools
