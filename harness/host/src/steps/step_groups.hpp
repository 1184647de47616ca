#pragma once

#include "steps/step_context.hpp"

namespace pinfold::harness {

/// Records the scenario's groups after a step that observes, for the report's picture.
[[nodiscard]] VmResult<void> note_groups(StepContext& context, const StepAction& action,
                                         StepResult& result);

}  // namespace pinfold::harness
