#pragma once

#include "steps/step_context.hpp"

/// Steps that write kernel values.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const CpusStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const WriteStep& step);

}  // namespace pinfold::harness
