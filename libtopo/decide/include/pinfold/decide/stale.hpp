#pragma once

#include <set>

#include "pinfold/decide/node_state.hpp"

/// Stale assignments: those of pods and containers that are neither active nor held.
namespace pinfold {

/// Releases every assignment of a pod or container that is neither active nor held, as the kubelet
/// does at the next admission.
[[nodiscard]] NodeState release_stale(const Node& node, NodeState state);

/// The steps of release_stale(), one for each manager.
void release_stale_cpus(const Node& node, NodeState& state);
void release_stale_memory(const Node& node, NodeState& state);
void release_stale_devices(const Node& node, NodeState& state);

/// Returns the pods, neither active nor held, with an assignment of CPUs or memory.
[[nodiscard]] std::set<PodUid> stale_pods(const NodeState& state);

}  // namespace pinfold
