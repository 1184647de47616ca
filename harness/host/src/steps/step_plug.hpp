#pragma once

#include "steps/step_context.hpp"

/// Hot-plugging: QEMU's monitor adds the hardware, the guest brings it online.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const PlugStep& step);

}  // namespace pinfold::harness
