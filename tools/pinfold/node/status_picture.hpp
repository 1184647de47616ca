#pragma once

#include <map>
#include <string>

#include "pinfold/agent/status.hpp"
#include "pinfold/cli/command.hpp"
#include "pinfold/picture/svg.hpp"

/// Makes the picture of an agent's node.
namespace pinfold::tools {

/// Returns the owners of CPUs: containers, pods, pools; and offline CPUs. Marks drift with "!".
[[nodiscard]] Overlay owners_of(const Machine& machine, const agent::NodeStatus& status);
/// Returns the memory of each NUMA node according to a state. `live_root`: the directory with sys/
/// and proc/ of the machine; "": the kernel's free memory is not shown.
[[nodiscard]] std::vector<NumaUse> numa_use(const Node& node, const NodeState& state,
                                            const std::string& live_root);
/// Returns the picture with both owners and memory.
[[nodiscard]] Picture picture_of(const agent::NodeAgent& agent, const agent::NodeStatus& status,
                                 const std::string& live_root);
/// Returns the picture of another state of the node, without observed data.
[[nodiscard]] Picture picture_of(const agent::NodeAgent& agent, const NodeState& state);
/// Returns the sentences about drift and offline CPUs that belong to the picture.
[[nodiscard]] std::vector<std::string> notes_of(const agent::NodeStatus& status);

/// Writes pictures to a file. Errors: kIo.
[[nodiscard]] Result<void> write_svg(const std::string& file, const std::string& title,
                                     const std::vector<SvgPanel>& panels);
/// Declares --svg.
[[nodiscard]] cli::Option svg_option(std::string& file);

}  // namespace pinfold::tools
