#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold::agent {

/// The part of the state that the kubelet's files do not have: the active pods, their started and
/// removed containers, their devices, adopted groups, and the states of further hint providers.
/// JSON; docs/operations.md.
[[nodiscard]] std::string encode_pods(const AgentState& state);
/// Fills the members that encode_pods writes. Domain: the state already has what the kubelet's
/// files hold. Their pods that `text` does not name are held. nullopt: there is no such file.
/// Errors: kCorrupt, "pods[1].started[0]: ...: expected ..."; kUnsupported for another version.
[[nodiscard]] Result<void> decode_pods(std::optional<std::string_view> text, AgentState& state);

}  // namespace pinfold::agent
