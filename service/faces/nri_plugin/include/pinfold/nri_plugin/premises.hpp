#pragma once

#include <set>
#include <string>

#include "pinfold/base/result.hpp"

/// Preconditions for taking over a node.
namespace pinfold::nri {

/// Returns the mount that contains a cgroup directory. Errors: kNotFound, kIo.
[[nodiscard]] Result<std::string> cgroup_mount_of(const std::string& directory);

/// Returns the directories in which a kubelet with this configuration file makes the groups of its
/// pods: by its cgroupRoot, and for every cgroupDriver, so some may not exist. `mount` is the
/// cpuset mount. Empty if the file cannot be read or is not a configuration; the pods then show the
/// directories.
[[nodiscard]] std::set<std::string> kubepods_of_configuration(const std::string& mount,
                                                              const std::string& file);

/// Checks that no kubelet on this node pins CPUs. Errors: kUnsupported if a kubelet with the static
/// CPU manager policy keeps its state in `root`; kIo.
[[nodiscard]] Result<void> check_kubelet(const std::string& root);

}  // namespace pinfold::nri
