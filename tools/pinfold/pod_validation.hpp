#pragma once

#include "pinfold/cli/command.hpp"

namespace pinfold::tools {

/// --no-validation, for commands that read pods from users.
[[nodiscard]] cli::Option no_validation_option(bool& is_set);

}  // namespace pinfold::tools
