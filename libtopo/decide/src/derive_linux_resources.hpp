#pragma once

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/decide/node.hpp"

namespace pinfold {

/// Whether the CFS quota is enforced; not for exclusive CPUs.
enum class CpuQuota { kEnforced, kOffForExclusiveCpus };

/// The cgroup values of one container.
[[nodiscard]] LinuxResources container_linux_resources(const Node& node, const PodSpec& pod,
                                                       const Container& container, CpuQuota quota);
/// The cgroup values of the pod.
[[nodiscard]] LinuxResources pod_linux_resources(const Node& node, const PodSpec& pod,
                                                 CpuQuota quota);

}  // namespace pinfold
