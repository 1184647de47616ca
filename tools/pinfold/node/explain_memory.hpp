#pragma once

#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"

namespace pinfold::tools {

/// Prints to which NUMA nodes processes may bind memory: `pinfold explain --memory`. A subject is a
/// pod (UID, name or NAMESPACE/NAME), the id of a process, or the directory of a cgroup. Without
/// one it is this process. Reads no cgroup through the agent, only the files below `options.sysfs`.
/// Errors: those of open_agent and audit::read_binding; kNotFound for an unknown pod, or one
/// without a cgroup; kInvalidArgument if several pods have the name.
[[nodiscard]] Result<ExitStatus> explain_memory(const AgentArguments& options,
                                                const std::vector<std::string>& subjects);

}  // namespace pinfold::tools
