#pragma once

#include "agent/agent_options.hpp"
#include "pinfold/agent/node_agent.hpp"

namespace pinfold::tools {

/// Converts the options to those of the agent itself; its warnings go to standard error.
[[nodiscard]] agent::AgentOptions agent_options_of(const AgentArguments& options,
                                                   agent::ProfileSource profile_source);
/// Rewords the error of an agent that does not open: the kubelet's advice to drain the node and
/// delete its state is replaced with advice that preserves the state.
[[nodiscard]] Error with_own_advice(const AgentArguments& options, Error error);
/// Opens the agent that the options describe. Prints warnings to standard error.
[[nodiscard]] Result<agent::NodeAgent> open_agent(const AgentArguments& options);

}  // namespace pinfold::tools
