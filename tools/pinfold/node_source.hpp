#pragma once

#include "agent_options.hpp"
#include "pinfold/agent/reconfigure.hpp"

/// What the node of a command or of the service is made of.
namespace pinfold::tools {

/// `options` say the configuration and the machine of the next node. STATE_DIR/config.yaml is
/// replaced if it exists.
[[nodiscard]] agent::NodeSource source_of_command(const AgentOptions& options);
/// `options` are those with which the service starts. STATE_DIR/config.yaml is written, unless they
/// name another file: that is its owner's, and must say the configuration already.
[[nodiscard]] agent::NodeSource source_of_service(const AgentOptions& options);

}  // namespace pinfold::tools
