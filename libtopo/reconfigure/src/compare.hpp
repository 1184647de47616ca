#pragma once

#include "problem.hpp"

namespace pinfold::planning {

/// Compares what a container had and has. The change is that of a pod that stays within the rules.
[[nodiscard]] PlannedContainer planned(const ContainerId& id, const Part& before,
                                       const Part& after);

}  // namespace pinfold::planning
