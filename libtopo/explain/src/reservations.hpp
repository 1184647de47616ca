#pragma once

#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace pinfold::explain_detail {

/// A configuration that differs from the node's in one respect.
struct Setting {
  std::string text;  ///< "topologyManagerScope: container -> pod (...)"
  Config config;
};

/// Returns the state of a node with another configuration after a reconfiguration that loses
/// nothing; the text of the setting then says that it needs one. nullopt if something would be
/// lost.
[[nodiscard]] std::optional<NodeState> reconfigured(const Node& from, const NodeState& state,
                                                    const Node& to, Setting& setting);

/// Returns configurations that reserve CPUs or memory for the system on other NUMA nodes, or
/// reserve less: by as much as the pod lacks. The change that leaves the system as much comes
/// first.
[[nodiscard]] std::vector<Setting> other_reservations(const Failure& failure);

/// Returns the configuration that allows as many pods as are needed. Domain: the reason is
/// kOutOfPods.
[[nodiscard]] Setting more_pods(const Failure& failure);

}  // namespace pinfold::explain_detail
