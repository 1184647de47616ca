#pragma once

#include <string>

#include "pinfold/harness/json.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

/// Returns the result of a program that reports its tests, with a step for each of them. Domain: a
/// step with `results`; `out` is the program's output, `reply` the agent's reply.
[[nodiscard]] StepResult judge_tests(const ExecStep& step, const std::string& out,
                                     const Json& reply);

}  // namespace pinfold::harness
