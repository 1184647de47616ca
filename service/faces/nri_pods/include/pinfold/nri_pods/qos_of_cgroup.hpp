#pragma once

#include <optional>
#include <string_view>

#include "pinfold/api/pod.hpp"

namespace pinfold::nri {

/// Returns the QoS class that the pod's cgroup names, "/kubepods/burstable/podUID" or
/// "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice", below any cgroup
/// root of the kubelet; nullopt for any other cgroup.
[[nodiscard]] std::optional<QosClass> qos_of_cgroup(std::string_view cgroup_parent,
                                                    const PodUid& uid);

}  // namespace pinfold::nri
