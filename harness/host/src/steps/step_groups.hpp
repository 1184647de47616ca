#pragma once

#include "steps/step_context.hpp"

namespace pinfold::harness {

/// After `expect` and `verify`: records the scenario's groups for the report's picture.
[[nodiscard]] VmResult<void> note_groups(StepContext& context, const StepAction& action,
                                         StepResult& result);

}  // namespace pinfold::harness
