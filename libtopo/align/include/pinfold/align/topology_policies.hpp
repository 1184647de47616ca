#pragma once

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/types/hint.hpp"

namespace pinfold {

/// When each topology policy admits. `affinity` is what the policy's merge chose: preferred means
/// that all resources are aligned.
/// Source: kubelet 1.36 cm/topologymanager/policy_*.go, canAdmitPodResult.
[[nodiscard]] bool admits(TopologyPolicy policy, const TopologyHint& affinity);

}  // namespace pinfold
