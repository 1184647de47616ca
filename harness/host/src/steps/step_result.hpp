#pragma once

#include <string>

#include "pinfold/harness/json.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

[[nodiscard]] StepResult success();
[[nodiscard]] StepResult failure(std::string message);
/// Converts the agent's reply to a result: ok, or its error.
[[nodiscard]] StepResult as_result(const Json& reply);

/// Sets ok and message according to the checks.
[[nodiscard]] StepResult concluded(StepResult result);

}  // namespace pinfold::harness
