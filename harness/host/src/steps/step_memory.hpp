#pragma once

#include "steps/step_context.hpp"

/// What is known about a guest after some steps, stored next to a saved state of the guest.
namespace pinfold::harness {

[[nodiscard]] Json memory_of(const StepContext& context);
/// Restores it. Returns false if the JSON is not such a memory.
[[nodiscard]] bool recall(StepContext& context, const Json& memory);

}  // namespace pinfold::harness
