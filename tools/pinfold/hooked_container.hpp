#pragma once

#include <functional>
#include <string>

#include "oci.hpp"
#include "pinfold/agent/node_agent.hpp"

/// What the hook does to the state of a node. The author of a container reads its errors, but may
/// not be allowed to read the pod file: no error quotes a pod that comes from one.
namespace pinfold::tools {

/// Admits and starts a container in the group that its runtime made. If that fails after the
/// admission, or the container's process `has_ended` by then, kills the processes of the group and
/// removes the container again.
/// Errors: kBusy if a container of this name runs already, or another pod has this UID;
/// kUnsupported for a rejection; those of NodeAgent::admit_adopted and start.
[[nodiscard]] Result<void> admit_hooked(agent::NodeAgent& agent, const HookRequest& request,
                                        const std::string& directory,
                                        const std::function<bool()>& has_ended);
/// Removes a container that the hook has admitted; any other one stays.
/// Errors: those of NodeAgent::remove_adopted.
[[nodiscard]] Result<void> remove_hooked(agent::NodeAgent& agent, const HookRequest& request);

}  // namespace pinfold::tools
