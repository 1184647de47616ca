#pragma once

#include <map>
#include <string>

#include "pinfold/agent/desired.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/types/pod_ref.hpp"

namespace pinfold::agent {

/// Names groups by their absolute directory in the cpuset hierarchy. A pod's own group has a
/// container without a name.
using NamedGroups = std::map<std::string, ContainerRef>;

/// Returns the groups that a state names: the adopted ones, and those of active pods below `root`,
/// the absolute directory of Pinfold's own groups. They need not exist. Reads nothing.
[[nodiscard]] NamedGroups named_groups(const Node& node, const AgentState& state,
                                       const std::string& root);

}  // namespace pinfold::agent
