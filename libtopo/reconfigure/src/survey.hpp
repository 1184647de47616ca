#pragma once

#include "judge.hpp"
#include "problem.hpp"

namespace pinfold::planning {

/// Returns what a pod has, and what it would get according to `judge`, whose node is `node`.
[[nodiscard]] PodCase survey(const Node& node, const NodeState& state, const ActivePod& pod,
                             Judge& judge, Neighbours neighbours = Neighbours::kNone);

/// Returns the problem of moving the pods of `state` to `node`. Borrows everything.
[[nodiscard]] SearchProblem survey(const Node& node, const NodeState& state, Judge& judge);

}  // namespace pinfold::planning
