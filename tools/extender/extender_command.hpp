#pragma once

#include <string>

#include "pinfold/cli/command.hpp"

namespace pinfold::tools {

/// The command line of pinfold-extender.
[[nodiscard]] cli::Command extender_command();

/// Prints "pinfold-extender: message" to standard error, with control characters escaped.
void report_extender_error(const std::string& message);

}  // namespace pinfold::tools
