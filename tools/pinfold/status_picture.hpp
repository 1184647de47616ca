#pragma once

#include <map>
#include <string>

#include "picture_svg.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/cli/command.hpp"

/// The picture of an agent's node.
namespace pinfold::tools {

/// The owners of CPUs: containers, pods, pools; offline CPUs. Marks drift with "!".
[[nodiscard]] Overlay owners_of(const Machine& machine, const agent::NodeStatus& status);
/// The memory of each NUMA node as a state has it. `live_root`: where sys/ and proc/ of the machine
/// are; "": what is free for the kernel is not shown.
[[nodiscard]] std::vector<NumaUse> numa_use(const Node& node, const NodeState& state,
                                            const std::string& live_root);
/// Both.
[[nodiscard]] Picture picture_of(const agent::NodeAgent& agent, const agent::NodeStatus& status,
                                 const std::string& live_root);
/// The same of another state of the node, without what is observed.
[[nodiscard]] Picture picture_of(const agent::NodeAgent& agent, const NodeState& state);
/// The sentences about drift and offline CPUs that belong to the picture.
[[nodiscard]] std::vector<std::string> notes_of(const agent::NodeStatus& status);

/// Writes pictures to a file. Errors: kIo.
[[nodiscard]] Result<void> write_svg(const std::string& file, const std::string& title,
                                     const std::vector<SvgPanel>& panels);
/// --svg.
[[nodiscard]] cli::Option svg_option(std::string& file);

}  // namespace pinfold::tools
