#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pinfold/agent/reconfiguration.hpp"

/// A reconfiguration for people and programs.
namespace pinfold::tools {

/// What changes, the table of containers that do not simply keep what they have, and what is
/// written to their cpusets.
[[nodiscard]] std::string describe(const agent::NodeAgent& agent,
                                   const agent::Reconfiguration& planned);
/// How long containers were parked and their pages moved, one line each; "" if none was.
[[nodiscard]] std::string describe(const agent::NodeAgent& agent,
                                   const std::vector<agent::MeasuredContainer>& measured);
/// The node before and after.
[[nodiscard]] std::string pictures(const agent::NodeAgent& agent, const Node& to,
                                   const agent::Reconfiguration& planned);
[[nodiscard]] nlohmann::json to_json(const agent::NodeAgent& agent,
                                     const agent::Reconfiguration& planned);
[[nodiscard]] nlohmann::json to_json(const agent::NodeAgent& agent,
                                     const std::vector<agent::MeasuredContainer>& measured);

}  // namespace pinfold::tools
