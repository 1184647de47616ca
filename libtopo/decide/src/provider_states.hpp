#pragma once

#include "pinfold/decide/node_state.hpp"

/// The strings that hint providers keep in NodeState::providers.
namespace pinfold {

/// Returns the state of a provider; empty at first.
[[nodiscard]] std::string provider_state(const NodeState& state, const HintProvider& provider);
/// Stores the state of a provider; an empty one has no entry.
void set_provider_state(NodeState& state, const HintProvider& provider, std::string value);

/// Lets every provider release a container's resources.
void release_in_providers(const Node& node, NodeState& state, const ContainerId& container);

}  // namespace pinfold
