#pragma once

#include <string>
#include <vector>

#include "picture_svg.hpp"
#include "pinfold/agent/reconfigure.hpp"

/// A reconfiguration for people.
namespace pinfold::tools {

/// What changes, the table of containers that do not simply keep what they have, and what is
/// written to their cpusets.
[[nodiscard]] std::string describe(const agent::Reconfiguration& planned);
/// How long containers were parked and their pages moved, one line each; "" if none was.
[[nodiscard]] std::string describe_measured(const agent::Reconfigured& done);
/// The node before and after.
[[nodiscard]] std::vector<SvgPanel> panels_of(const Node& from, const Node& to,
                                              const agent::Reconfiguration& planned);
/// The same for a terminal.
[[nodiscard]] std::string pictures(const std::vector<SvgPanel>& panels);

}  // namespace pinfold::tools
