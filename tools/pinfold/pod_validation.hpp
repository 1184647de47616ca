#pragma once

#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/cli/command.hpp"

namespace pinfold::tools {

/// --no-validation, for the commands that read pods from users.
[[nodiscard]] cli::Option no_validation_option(bool& is_set);

/// Errors: kInvalidArgument with the violations of all pods (see pinfold/api/validation.hpp).
[[nodiscard]] Result<void> validate_all(const std::vector<PodSpec>& pods);

}  // namespace pinfold::tools
