#include "provider_states.hpp"

namespace pinfold {

std::string provider_state(const NodeState& state, const HintProvider& provider) {
  const auto found = state.providers.find(provider.name());
  return found == state.providers.end() ? std::string() : found->second;
}

void set_provider_state(NodeState& state, const HintProvider& provider, std::string value) {
  if (value.empty()) {
    state.providers.erase(provider.name());
  } else {
    state.providers[provider.name()] = std::move(value);
  }
}

void release_in_providers(const Node& node, NodeState& state, const ContainerId& container) {
  for (const auto& provider : node.providers()) {
    std::string value = provider_state(state, *provider);
    provider->release(value, container);
    set_provider_state(state, *provider, std::move(value));
  }
}

}  // namespace pinfold
