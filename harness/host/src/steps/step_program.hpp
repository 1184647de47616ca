#pragma once

#include "steps/step_context.hpp"

/// Steps with programs that a scenario names.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const ExecStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StopStep& step);

}  // namespace pinfold::harness
