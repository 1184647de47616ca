#pragma once

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/decide/quota.hpp"

namespace pinfold {

/// Whether the CFS quota binds: it does not where CPUs are exclusive.
enum class CpuQuota { kEnforced, kOffForExclusiveCpus };

/// The cgroup values of one container.
[[nodiscard]] LinuxResources container_linux_resources(const Node& node, const PodSpec& pod,
                                                       const Container& container, CpuQuota quota);
/// The cgroup values of the pod's own group.
[[nodiscard]] LinuxResources pod_linux_resources(const Node& node, const PodSpec& pod,
                                                 CpuQuota quota);

}  // namespace pinfold
