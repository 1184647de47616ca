#pragma once

#include <string>

#include "pinfold/harness/run.hpp"
#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

[[nodiscard]] StepResult success();
[[nodiscard]] StepResult failure(std::string message);
/// Converts the agent's reply to a result: ok, or its error.
[[nodiscard]] StepResult as_result(const Json& reply);

/// Sets ok and message according to the checks.
[[nodiscard]] StepResult concluded(StepResult result);

/// Returns "status 1", "signal 9" or "the time limit" for an exec reply.
[[nodiscard]] std::string describe_end(const Json& reply);
/// Returns the end of a program's output.
[[nodiscard]] std::string excerpt(std::string text);

/// Returns the result of a program that reports its tests, with a step for each of them. Domain: a
/// step with `results`; `out` is the program's output, `reply` the agent's reply.
[[nodiscard]] StepResult judge_tests(const ExecStep& step, const std::string& out,
                                     const Json& reply);

}  // namespace pinfold::harness
