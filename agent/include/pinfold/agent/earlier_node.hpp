#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/node_file.hpp"

/// The node before the last reconfiguration.
namespace pinfold::agent {

/// Describes the differences between two nodes, one sentence each; empty if they are the same.
[[nodiscard]] std::vector<std::string> differences(const Machine& machine_before,
                                                   const Config& config_before,
                                                   const Machine& machine_after,
                                                   const Config& config_after);

/// Returns the state of a node before the last reconfiguration, with the pods of `now`. `to` is
/// made from `before`. Errors: kCorrupt if a kubelet would not start from the stored files.
[[nodiscard]] Result<NodeState> earlier_state(const EarlierNode& before, const NodeState& now,
                                              const Node& to);
/// Returns the control groups of the pods before the last reconfiguration. Empty if there was none,
/// or if the earlier node or state cannot be restored.
[[nodiscard]] enforce::Layout earlier_layout(const std::shared_ptr<const EarlierNode>& before,
                                             const AgentState& now);

}  // namespace pinfold::agent
