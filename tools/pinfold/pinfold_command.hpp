#pragma once

#include <string>
#include <vector>

#include "pinfold/cli/command.hpp"

namespace pinfold::tools {

/// Declares the whole program. `arguments`: those of its command, without the command's name.
[[nodiscard]] cli::Command pinfold_command(const std::vector<std::string>& arguments = {});

}  // namespace pinfold::tools
