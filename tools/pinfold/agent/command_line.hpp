#pragma once

#include <string>

#include "agent/agent_arguments.hpp"

namespace pinfold::tools {

/// Returns "pinfold COMMAND" with the options that select the node.
[[nodiscard]] std::string command_line(const std::string& command, const NodeOptions& options);
/// Returns the same for a proposed command that changes the state. If the machine comes from a
/// file, the command does not enforce, because this need not be that machine.
[[nodiscard]] std::string advised_command_line(const std::string& command,
                                               const NodeOptions& options);
/// Returns the command line for a command that changes the state, with the options for enforcement
/// and the service.
[[nodiscard]] std::string changing_command_line(const std::string& command,
                                                const AgentArguments& options);
/// Adds a command that preserves the state to the error of a state that does not start.
[[nodiscard]] Error with_own_advice(const NodeOptions& options, Error error);

}  // namespace pinfold::tools
