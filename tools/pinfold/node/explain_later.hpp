#pragma once

#include <span>

#include "pinfold/explain/explanation.hpp"

namespace pinfold::tools {

/// Says in each remedy that changes a rejected pod or removes others which of the pods that the
/// same call admits after it would then be rejected. `before`: the state of the pod's turn.
void name_later_rejections(const Node& node, const NodeState& before,
                           std::span<const PodSpec> admitted_later, Explanation& explanation);

}  // namespace pinfold::tools
