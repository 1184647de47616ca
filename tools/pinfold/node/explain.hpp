#pragma once

#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"

namespace pinfold::tools {

/// Returns the command line of `pinfold explain` for the node of another command. `pod`: only this
/// pod of the files; "": all.
[[nodiscard]] std::string explain_command_line(const AgentArguments& options,
                                               const std::vector<std::string>& files,
                                               const std::string& pod, bool no_validation);

}  // namespace pinfold::tools
