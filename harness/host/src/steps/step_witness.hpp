#pragma once

#include "steps/step_context.hpp"

/// The witness: checks from the kernel's record of the scheduler what ran on exclusive CPUs.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StartWitnessStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StopWitnessStep& step);
/// While the witness runs: marks the end of a step in its record, and notes the exclusive CPUs.
[[nodiscard]] VmResult<void> note_witnessed(StepContext& context, StepResult& result);

}  // namespace pinfold::harness
