#pragma once

#include <span>

#include "pinfold/explain/explanation.hpp"
#include "pinfold/fields/types.hpp"

namespace pinfold {

[[nodiscard]] std::span<const Remedy::Kind> enumerators(Remedy::Kind type);

void describe(fields::Fields& fields, OccupiedResource& resource);
void describe(fields::Fields& fields, ContainerExplanation& container);
/// docs/explain.md.
void describe(fields::Fields& fields, Explanation& explanation);

}  // namespace pinfold
