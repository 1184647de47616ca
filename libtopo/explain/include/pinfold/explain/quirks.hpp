#pragma once

#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"

namespace pinfold {

/// The known bugs of the profile's kubelet that change the decision about a pod: those without
/// which it would be rejected or admitted instead, for another reason or with other resources. A
/// sentence each, with what follows from it, such as that the kubelet does not start again. Empty
/// under `fixed`. Decides once, and once for each quirk if any changes something.
[[nodiscard]] std::vector<std::string> acting_quirks(const Node& node, const NodeState& state,
                                                     const PodSpec& pod);

}  // namespace pinfold
