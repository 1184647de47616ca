#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/decide/keep.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/verbs/execute.hpp"

/// Predicts the service's answers from the pure decisions alone.
namespace pinfold::world {

/// The result of a request if nothing goes wrong.
struct Expected {
  agent::AgentState next;
  /// For an admission: why each pod is rejected.
  std::vector<std::optional<Rejection>> rejections = {};
  /// For a resize: why the container keeps what it has.
  std::optional<NotResized> refused = {};
  /// "": it succeeds.
  std::string error = {};
};

/// The plan from a dry run: the result of a reconfiguration or defragmentation.
struct Planned {
  NodeState next;
  bool is_applied = false;
};
[[nodiscard]] agent::AgentState with_plan(agent::AgentState state, const NodeState& next);

/// The resources of containers that run already, by the UID of their pod.
using PlacesOfPods = std::map<PodUid, Places>;

/// Predicts the result of a request. Domain: Admit, Start, Remove, Resize, Reconcile, Settle.
[[nodiscard]] Expected expect(const Node& node, const agent::AgentState& state,
                              const CpuSet& offline, const verbs::Action& action,
                              const PlacesOfPods& places = {});

/// Which of several changes were committed.
enum class Committed {
  kAll,
  kPrefix,  ///< all changes up to some point
  kAny,     ///< any of them
};
/// Returns the states that these changes can lead to.
[[nodiscard]] std::vector<agent::AgentState> reachable(const Node& node,
                                                       const agent::AgentState& first,
                                                       const CpuSet& offline,
                                                       const std::vector<verbs::Action>& changes,
                                                       Committed committed,
                                                       const PlacesOfPods& places = {});

/// Returns true if the states are equal except for what a restart loses.
[[nodiscard]] bool is_same(const agent::AgentState& a, const agent::AgentState& b);
/// Describes a state: one line for each container with CPUs.
[[nodiscard]] std::string describe(const agent::AgentState& state);

}  // namespace pinfold::world
