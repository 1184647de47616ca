#pragma once

#include "steps/step_context.hpp"

/// What is known about a guest after some steps, stored next to a saved state of the guest.
namespace pinfold::harness {

[[nodiscard]] Json memory_of(const StepContext& context);
/// Restores the context from a result of memory_of(). Returns false for other JSON.
[[nodiscard]] bool recall(StepContext& context, const Json& memory);

}  // namespace pinfold::harness
