#pragma once

#include <memory>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/settings/nri_settings.hpp"

namespace pinfold::nri {

/// Makes the follower of a mode. Errors: those of check_node; kUnsupported if the agent enforces
/// nothing.
[[nodiscard]] Result<std::unique_ptr<Follower>> make_follower(settings::NriMode mode,
                                                              agent::NodeAgent& agent,
                                                              FollowerOptions options);

}  // namespace pinfold::nri
