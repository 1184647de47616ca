#pragma once

#include "pinfold/explain/explanation.hpp"

namespace pinfold::explain_detail {

/// Explains the admission of a pod. Domain: decide() admits it.
[[nodiscard]] Explanation of_admission(const Node& node, const NodeState& state,
                                       const PodSpec& pod);

[[nodiscard]] Explanation of_active_pod(const Node& node, const NodeState& state,
                                        const ActivePod& pod);

}  // namespace pinfold::explain_detail
