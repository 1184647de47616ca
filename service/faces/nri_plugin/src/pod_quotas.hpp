#pragma once

#include <string>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/nri_pods/known_pods.hpp"

namespace pinfold::nri {

/// Sets the CFS quota of a pod's own group. A kubelet with the CPU manager policy none gives each
/// pod the sum of its limits, which throttles exclusive CPUs. With the policy static it gives no
/// quota to a pod with exclusive CPUs. It writes the quota when it makes the group and when it
/// resizes the pod. Removes the quota of a pod with exclusive CPUs; restores that of the sandbox
/// when the pod no longer has any. `mount` is the cpuset mount. A failure is logged as a warning.
void set_pod_quota(agent::NodeAgent& agent, const std::string& mount, const KnownPod& pod,
                   const agent::LogSink& log);

}  // namespace pinfold::nri
