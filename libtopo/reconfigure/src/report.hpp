#pragma once

#include <vector>

#include "judge.hpp"
#include "problem.hpp"

namespace pinfold::planning {

/// Returns what a plan does with each container. `next` is the state that `choices` lead to.
[[nodiscard]] std::vector<PlannedContainer> report(const SearchProblem& problem, const Judge& judge,
                                                   const std::vector<PodChoice>& choices,
                                                   const NodeState& next);

}  // namespace pinfold::planning
