#pragma once

#include <string>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/nri_pods/known_pods.hpp"

namespace pinfold::nri {

/// The CFS quota of a pod's own group. A kubelet with the CPU manager policy none gives each pod
/// the sum of its limits, which throttles exclusive CPUs; with the policy static it gives none to a
/// pod with exclusive CPUs. It writes it when it makes the group and when it resizes the pod.
/// `mount`: of the hierarchy with the cpusets. A pod that has exclusive CPUs loses its quota; one
/// that has none any more gets back that of its sandbox. A failure is a warning.
void set_pod_quota(const agent::NodeAgent& agent, const std::string& mount, const KnownPod& pod,
                   const agent::LogSink& log);

}  // namespace pinfold::nri
