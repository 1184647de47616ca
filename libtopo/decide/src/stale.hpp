#pragma once

#include "pinfold/decide/decide.hpp"

/// Releases stale assignments: those of pods and containers that are neither active nor held.
namespace pinfold {

void release_stale_cpus(const Node& node, NodeState& state);
void release_stale_memory(const Node& node, NodeState& state);
void release_stale_devices(const Node& node, NodeState& state);

}  // namespace pinfold
