#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/decide/node_state.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// The guest's image that replaces images of other registries.
inline constexpr const char* kOtherImage = "localhost/busybox:1";

/// The requests that a kubelet sends to a container runtime to run a pod, named as in CRI's
/// definition.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
struct PodRequests {
  std::string cgroup_parent;               ///< "/kubepods/burstable/podUID"
  Json sandbox;                            ///< PodSandboxConfig
  std::map<std::string, Json> containers;  ///< ContainerConfig by name
};

/// Returns the requests of a kubelet with the cgroupfs driver for a pod of `state`, with cpusets as
/// its managers set them. The pod uses the host's network. The guest's own images replace those of
/// other registries: a name that does not begin with "localhost/" stands for a busybox that waits.
/// Source: kubelet v1.36.2 kuberuntime, generatePodSandboxConfig, generateContainerConfig.
[[nodiscard]] PodRequests kubelet_requests(const Node& node, const NodeState& state,
                                           const ActivePod& active, const Json& manifest);

/// Returns the requests of a kubelet without policies on this machine. Errors: as parse_pod.
[[nodiscard]] Result<PodRequests> kubelet_requests(const VmMachine& machine,
                                                   std::string_view manifest);

}  // namespace pinfold::harness
