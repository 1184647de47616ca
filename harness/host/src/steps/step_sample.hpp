#pragma once

#include "steps/step_context.hpp"

/// The sampler: checks that no exclusive CPU is ever in another container, even briefly.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StartSamplingStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StopSamplingStep& step);
/// While the sampler runs: records the exclusive CPUs of each group.
[[nodiscard]] VmResult<void> note_exclusive(StepContext& context, StepResult& result);

}  // namespace pinfold::harness
