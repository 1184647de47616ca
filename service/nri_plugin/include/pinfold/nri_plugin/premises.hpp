#pragma once

#include <set>
#include <string>

#include "pinfold/base/result.hpp"

/// What has to be so before a plugin may own a node.
namespace pinfold::nri {

/// The mount that a directory of the cgroups is in. Errors: kNotFound, kIo.
[[nodiscard]] Result<std::string> cgroup_mount_of(const std::string& directory);

/// Where a kubelet with this configuration file makes the groups of its pods, by its cgroupRoot and
/// whatever its cgroupDriver; some need not exist. `mount`: of the cpusets. Empty for a file that
/// cannot be read, or is none: its pods show it then.
[[nodiscard]] std::set<std::string> kubepods_of_configuration(const std::string& mount,
                                                              const std::string& file);

/// Errors: kUnsupported if a kubelet with the CPU manager policy static has its state in `root`;
/// kIo.
[[nodiscard]] Result<void> check_kubelet(const std::string& root);

}  // namespace pinfold::nri
