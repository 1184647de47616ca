#pragma once

#include <string>
#include <string_view>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold::agent {

/// What the kubelet's files do not hold: the active pods, which of their containers have started
/// or are gone, who holds which device, and what further hint providers remember. JSON;
/// docs/operations.md.
[[nodiscard]] std::string encode_pods(const AgentState& state);
/// Fills the members that encode_pods writes.
/// Errors: kCorrupt, "pods[1].started[0]: ...: expected ...".
[[nodiscard]] Result<void> decode_pods(std::string_view text, AgentState& state);

}  // namespace pinfold::agent
