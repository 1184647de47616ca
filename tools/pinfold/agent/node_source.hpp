#pragma once

#include "agent/agent_arguments.hpp"
#include "pinfold/verbs/reconfigure.hpp"

/// Where the parts of a command's or the service's node come from.
namespace pinfold::tools {

/// Makes the source of a command: `options` name the configuration and the machine of the next
/// node. STATE_DIR/config.yaml is replaced if it exists.
[[nodiscard]] verbs::NodeSource source_of_command(const AgentArguments& options);
/// Makes the source of the service, with the options of its start. STATE_DIR/config.yaml is
/// written, unless the options name another file; that file belongs to its owner, and must already
/// have the configuration.
[[nodiscard]] verbs::NodeSource source_of_service(const AgentArguments& options);

}  // namespace pinfold::tools
