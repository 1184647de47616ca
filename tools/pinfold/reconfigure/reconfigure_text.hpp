#pragma once

#include <string>
#include <vector>

#include "pinfold/picture/svg.hpp"
#include "pinfold/verbs/reconfigure.hpp"

/// Formats a reconfiguration for people.
namespace pinfold::tools {

/// Describes the differences, the containers that do not simply keep their resources (as a table),
/// and the writes to their cpusets.
[[nodiscard]] std::string describe(const agent::Reconfiguration& planned);
/// Describes how long containers were parked and their pages moved, one line each; "" if none was.
[[nodiscard]] std::string describe_measured(const verbs::Reconfigured& done);
/// Returns the node before and after.
[[nodiscard]] std::vector<SvgPanel> panels_of(const Node& from, const Node& to,
                                              const agent::Reconfiguration& planned);
/// Draws the panels for a terminal.
[[nodiscard]] std::string pictures(const std::vector<SvgPanel>& panels);

}  // namespace pinfold::tools
