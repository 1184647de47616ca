#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// What a kubelet asks a container runtime for to run a pod, by the names of CRI's definition.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
struct PodRequests {
  std::string cgroup_parent;               ///< "/kubepods/burstable/podUID"
  Json sandbox;                            ///< PodSandboxConfig
  std::map<std::string, Json> containers;  ///< ContainerConfig by name
};

/// As a kubelet with the cgroupfs driver, without policies of its managers, on this machine. The
/// pod is on the host's network. The images of the guest stand in for those of other registries:
/// for a name that does not begin with "localhost/", busybox that waits.
/// Errors: those of parse_pod.
/// Source: kubelet v1.36.2 kuberuntime, generatePodSandboxConfig, generateContainerConfig.
[[nodiscard]] Result<PodRequests> kubelet_requests(const VmMachine& machine,
                                                   std::string_view manifest);

}  // namespace pinfold::harness
