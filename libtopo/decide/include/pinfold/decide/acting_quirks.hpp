#pragma once

#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"

namespace pinfold {

/// Returns the known bugs of the profile's kubelet that change the decision about a pod: without
/// them it would be rejected or admitted instead, for another reason or with other resources. One
/// sentence each, with its consequences, such as that the kubelet does not start again. Empty under
/// `fixed` and on a node with HintProviders. Decides twice, and once more for each quirk if they
/// change anything.
[[nodiscard]] std::vector<std::string> acting_quirks(const Node& node, const NodeState& state,
                                                     const PodSpec& pod);

}  // namespace pinfold
