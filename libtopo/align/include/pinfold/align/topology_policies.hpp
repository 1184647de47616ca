#pragma once

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/types/hint.hpp"

namespace pinfold {

/// Returns whether a topology policy admits a pod. `affinity` is the result of the policy's merge;
/// preferred means that all resources are aligned.
/// Source: kubelet 1.36 cm/topologymanager/policy_*.go, canAdmitPodResult.
[[nodiscard]] bool admits(TopologyPolicy policy, const TopologyHint& affinity);

}  // namespace pinfold
