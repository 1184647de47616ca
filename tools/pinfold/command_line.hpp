#pragma once

#include <string>

#include "agent_options.hpp"

namespace pinfold::tools {

/// A word of a command line, quoted for a shell if it has to be.
[[nodiscard]] std::string shell_word(const std::string& word);

/// "pinfold COMMAND" with the options that name the node of the command that prints it.
[[nodiscard]] std::string command_line(const std::string& command, const AgentOptions& options);
/// The same for a command that changes the state: also what is enforced, and by which service.
[[nodiscard]] std::string changing_command_line(const std::string& command,
                                                const AgentOptions& options);

}  // namespace pinfold::tools
