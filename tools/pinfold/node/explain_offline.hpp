#pragma once

#include "pinfold/agent/node_view.hpp"
#include "pinfold/explain/explanation.hpp"

namespace pinfold::tools {

/// Explains a pod on a node some of whose CPUs may be offline. A pod that would get exclusive CPUs
/// then waits for them; a remedy that helps only once the CPUs are back says so and comes last.
/// `state` is the one before the decision.
[[nodiscard]] Explanation explain_now(const agent::NodeView& agent, const NodeState& state,
                                      const PodSpec& pod);

/// Returns whether a pod would be admitted, but for CPUs that are offline. `admit` fails then.
[[nodiscard]] bool waits_for_cpus(const Explanation& explanation);

}  // namespace pinfold::tools
