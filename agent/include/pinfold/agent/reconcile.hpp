#pragma once

#include <optional>
#include <vector>

#include "pinfold/agent/node_agent.hpp"

namespace pinfold::agent {

/// Removes a container whose group was adopted, and its pod if the pod ends with it. If processes
/// run in other groups of the pod, the pod stays until remove_abandoned().
/// Errors: as NodeAgent::remove_container.
[[nodiscard]] Result<ChangeOutcome> remove_adopted(NodeAgent& agent, const ContainerId& container,
                                                   RunningProcesses running);

/// Does the same for every adopted container without a process: its runtime died without removing
/// it. With Abandoned::kDisown, containers whose pods do not end with them are disowned instead.
/// Returns the removed containers; a failure of one does not stop the others.
[[nodiscard]] std::vector<ContainerId> remove_abandoned(NodeAgent& agent);

/// Removes abandoned containers, then brings the kernel to the desired state. Idempotent. `pages`:
/// nullopt means AgentOptions::move_pages.
/// Errors: kUnsupported if the agent enforces nothing; kIo if the groups cannot be read.
[[nodiscard]] Result<ReconcileReport> reconcile(NodeAgent& agent,
                                                std::optional<PageMoves> pages = std::nullopt);

}  // namespace pinfold::agent
