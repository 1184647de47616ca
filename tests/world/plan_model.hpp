#pragma once

#include <optional>
#include <string>

#include "pinfold/agent/desired.hpp"
#include "pinfold/verbs/execute.hpp"

/// Predicts the result of a request that plans, from the pure plans alone.
namespace pinfold::world {

/// The node before its last reconfiguration.
struct Before {
  Machine machine;
  Config config;
  NodeState state;
};

struct ExpectedPlan {
  NodeState next;
  bool is_applied = true;  ///< false: pods cannot stay, or there is no way to make room
  std::string error;       ///< "": there is a plan
};

[[nodiscard]] ExpectedPlan expect_plan(const Node& node, const NodeState& state,
                                       const CpuSet& offline, const verbs::Action& request,
                                       const std::optional<Before>& before);

/// Returns true if the containers can move from one state to another without any overlap in
/// between.
[[nodiscard]] bool can_move(const Node& node, const agent::AgentState& from, const Node& to,
                            const agent::AgentState& after);

/// Returns true if a plan does not change what is stored about the previous node.
[[nodiscard]] bool is_repetition(const Node& node, const NodeState& state, const Config& to,
                                 const NodeState& next);

/// Returns the configuration of the node after the request.
[[nodiscard]] Config config_after(const Node& node, const verbs::Action& request,
                                  const std::optional<Before>& before);

}  // namespace pinfold::world
