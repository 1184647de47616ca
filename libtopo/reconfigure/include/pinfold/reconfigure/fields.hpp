#pragma once

#include <span>

#include "pinfold/fields/types.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"

namespace pinfold {

[[nodiscard]] std::span<const Change> enumerators(Change type);

void describe(fields::Fields& fields, PlanCost& cost);
/// The members of a planned container, without the container itself.
void describe(fields::Fields& fields, PlannedContainer& planned);

/// A planned container with the names of its pod.
struct PlannedMove {
  ContainerRef container;
  PlannedContainer planned;
};
void describe(fields::Fields& fields, PlannedMove& move);

}  // namespace pinfold
