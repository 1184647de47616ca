#pragma once

#include <vector>

#include "judge.hpp"
#include "problem.hpp"

namespace pinfold::planning {

/// What a plan does with each container. `next`: the state of `choices`.
[[nodiscard]] std::vector<PlannedContainer> report(const Problem& problem, const Judge& judge,
                                                   const std::vector<Choice>& choices,
                                                   const NodeState& next);

}  // namespace pinfold::planning
