#pragma once

#include <string>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/nri/messages.hpp"
#include "pinfold/settings/nri_settings.hpp"

namespace pinfold::nri {

/// Adds to the answer to CreateContainer the environment variables and the read-only mount that
/// announce the container's CPUs and memory nodes, if it or the settings ask for them.
/// Errors: kInvalidArgument for a wrong annotation; those of NodeAgent::publish_assigned.
[[nodiscard]] Result<void> add_own_resources(agent::NodeAgent& agent, settings::AssignedFor told,
                                             const api::CreateContainerRequest& request,
                                             const ContainerId& id,
                                             api::ContainerAdjustment& adjust);

}  // namespace pinfold::nri
