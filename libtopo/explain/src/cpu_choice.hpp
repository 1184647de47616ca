#pragma once

#include "pinfold/decide/decide.hpp"

namespace pinfold::explain_detail {

/// Adds, for each container that took exclusive CPUs in an admission, the CPUs that it would have
/// taken without them, and the rule that put these behind. Nothing for a container without such a
/// choice within its affinity, nor for a pod whose CPUs are taken as a whole. `before`: the state
/// that the pod was admitted to.
void add_cpu_choices(const Node& node, const NodeState& before, const PodSpec& pod,
                     const Admitted& admitted, Trace& trace);

}  // namespace pinfold::explain_detail
