#pragma once

#include <optional>
#include <string>

#include "pinfold/agent/desired.hpp"
#include "pinfold/service/request.hpp"

/// What a request that plans must come to, from the pure plans alone.
namespace pinfold::world {

/// The node before its last reconfiguration.
struct Before {
  Machine machine;
  Config config;
  NodeState state;
};

struct ExpectedPlan {
  NodeState next;
  bool is_applied = true;  ///< false: pods cannot stay, or nothing makes room
  std::string error;       ///< "": there is a plan
};

[[nodiscard]] ExpectedPlan expect_plan(const Node& node, const NodeState& state,
                                       const CpuSet& offline, const service::Action& request,
                                       const std::optional<Before>& before);

/// Whether the containers can go from one state to another without a moment of overlap.
[[nodiscard]] bool can_move(const Node& node, const agent::AgentState& from, const Node& to,
                            const agent::AgentState& after);

/// Whether a plan changes nothing that is kept of the node before.
[[nodiscard]] bool is_repetition(const Node& node, const NodeState& state, const Config& to,
                                 const NodeState& next);

/// The configuration with which the node goes on.
[[nodiscard]] Config config_after(const Node& node, const service::Action& request,
                                  const std::optional<Before>& before);

}  // namespace pinfold::world
