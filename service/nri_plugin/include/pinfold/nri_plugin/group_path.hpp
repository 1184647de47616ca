#pragma once

#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// Where runtimes make cgroups. Pure.
namespace pinfold::nri {

/// The directory of a container's group below the mount of the cpusets. `cgroups_path`: as the
/// container's OCI spec has it: a path, or "SLICE:PREFIX:NAME" for systemd.
/// Errors: kInvalidArgument for one that is empty or leaves the mount.
[[nodiscard]] Result<std::string> group_directory(std::string_view mount,
                                                  std::string_view cgroups_path);
/// The same for the group of a pod, `cgroup_parent`: a path, or the name of a slice.
[[nodiscard]] Result<std::string> pod_directory(std::string_view mount,
                                                std::string_view cgroup_parent);

/// The directory with the pods of a kubelet, from that of a pod: up to "kubepods" or
/// "...kubepods.slice". "": it is none of a kubelet's.
[[nodiscard]] std::string kubepods_of(std::string_view pod_directory);

}  // namespace pinfold::nri
