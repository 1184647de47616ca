#pragma once

#include <optional>
#include <string>

#include "agent/agent_arguments.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/verbs/reconfigure.hpp"

/// Reads the node that the options describe.
namespace pinfold::tools {

using verbs::NodeConfig;
/// Reads the configuration, and prints warnings to standard error.
[[nodiscard]] Result<NodeConfig> read_config(const NodeOptions& options);
/// Reads `text` in place of the configuration, without warnings; nullopt: the configuration itself.
[[nodiscard]] Result<NodeConfig> read_config(const NodeOptions& options,
                                             const std::optional<std::string>& text);
/// Reads or discovers the machine, and prints the warnings of discovery to standard error.
[[nodiscard]] Result<Machine> read_machine(const NodeOptions& options);
[[nodiscard]] Result<Node> make_node(const NodeOptions& options, const Config& config);

}  // namespace pinfold::tools
