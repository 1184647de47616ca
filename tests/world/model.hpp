#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/decide/keep.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/service/request.hpp"

/// What the service must answer, from the pure decisions alone.
namespace pinfold::world {

/// What a request comes to if nothing goes wrong.
struct Expected {
  agent::AgentState next;
  /// Of an admission: why each pod is rejected.
  std::vector<std::optional<Rejection>> rejections;
  /// "": it is done.
  std::string error;
};

/// A plan that a dry run gave: what a reconfiguration or defragmentation leads to.
struct Planned {
  NodeState next;
  bool is_applied = false;
};
[[nodiscard]] agent::AgentState with_plan(agent::AgentState state, const NodeState& next);

/// What containers that run already have, by the UID of their pod.
using PlacesOfPods = std::map<PodUid, Places>;

/// Domain: Admit, Start, Remove, Reconcile, Settle.
[[nodiscard]] Expected expect(const Node& node, const agent::AgentState& state,
                              const CpuSet& offline, const service::Action& action,
                              const PlacesOfPods& places = {});

/// Which of several changes were committed.
enum class Committed {
  kAll,
  kPrefix,  ///< all up to one of them
  kAny,     ///< each or not
};
/// The states to which these changes can lead.
[[nodiscard]] std::vector<agent::AgentState> reachable(const Node& node,
                                                       const agent::AgentState& first,
                                                       const CpuSet& offline,
                                                       const std::vector<service::Action>& changes,
                                                       Committed committed,
                                                       const PlacesOfPods& places = {});

/// The same state, as far as a restart keeps it.
[[nodiscard]] bool is_same(const agent::AgentState& a, const agent::AgentState& b);
/// One line for each container that has CPUs, and what differs from `other`.
[[nodiscard]] std::string describe(const agent::AgentState& state);

}  // namespace pinfold::world
