#pragma once

#include "problem.hpp"

namespace pinfold::planning {

/// What a container had and has, with the change as it is for a pod that stays within the rules.
[[nodiscard]] PlannedContainer planned(const ContainerId& id, const Part& before,
                                       const Part& after);

}  // namespace pinfold::planning
