#pragma once

#include "pinfold/decide/decide.hpp"

namespace pinfold::explain_detail {

/// For each container that took exclusive CPUs in an admission, adds the CPUs that it would have
/// taken without these, and the rule that ranked those lower. Adds nothing for a container without
/// such a choice within its affinity, or for a pod whose CPUs are taken as a whole. `before`: the
/// state to which the pod was admitted.
void add_cpu_choices(const Node& node, const NodeState& before, const PodSpec& pod,
                     const Admitted& admitted, Trace& trace);

}  // namespace pinfold::explain_detail
