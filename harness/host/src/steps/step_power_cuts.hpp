#pragma once

#include "steps/step_context.hpp"

/// Steps with the recorded disk: the effects of power cuts.
namespace pinfold::harness {

[[nodiscard]] VmResult<void> make_disk(StepContext& context);
/// Marks the current contents of the disk, if any, as acknowledged: they must survive.
[[nodiscard]] VmResult<void> mark_disk(StepContext& context);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const PowerCutsStep& step);

}  // namespace pinfold::harness
