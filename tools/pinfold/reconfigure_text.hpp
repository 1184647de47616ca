#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "picture_svg.hpp"
#include "pinfold/agent/reconfiguration.hpp"

/// A reconfiguration for people and programs.
namespace pinfold::tools {

/// What changes, and the table of containers that do not simply keep what they have.
[[nodiscard]] std::string describe(const agent::NodeAgent& agent,
                                   const agent::Reconfiguration& planned);
/// The node before and after.
[[nodiscard]] std::vector<SvgPanel> panels_of(const agent::NodeAgent& agent, const Node& to,
                                              const agent::Reconfiguration& planned);
/// The same for a terminal.
[[nodiscard]] std::string pictures(const agent::NodeAgent& agent, const Node& to,
                                   const agent::Reconfiguration& planned);
[[nodiscard]] nlohmann::json to_json(const agent::NodeAgent& agent,
                                     const agent::Reconfiguration& planned);

}  // namespace pinfold::tools
