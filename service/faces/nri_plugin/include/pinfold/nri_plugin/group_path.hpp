#pragma once

#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// Computes where runtimes make cgroups. Pure.
namespace pinfold::nri {

/// Returns the directory of a container's group below the cpuset mount. `cgroups_path` is that of
/// the container's OCI spec: a path, or "SLICE:PREFIX:NAME" for systemd.
/// Errors: kInvalidArgument if it is empty or leads out of the mount.
[[nodiscard]] Result<std::string> group_directory(std::string_view mount,
                                                  std::string_view cgroups_path);
/// Returns the directory of a pod's group. `cgroup_parent` is a path, or the name of a slice.
/// Errors: as above.
[[nodiscard]] Result<std::string> pod_directory(std::string_view mount,
                                                std::string_view cgroup_parent);

}  // namespace pinfold::nri
