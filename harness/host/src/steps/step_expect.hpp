#pragma once

#include "steps/step_context.hpp"

/// Steps that compare the kernel with what is expected.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const ExpectStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const VerifyStep& step);

}  // namespace pinfold::harness
