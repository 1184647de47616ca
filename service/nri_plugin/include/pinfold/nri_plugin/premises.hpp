#pragma once

#include <string>

#include "pinfold/base/result.hpp"

/// What has to be so before a plugin may own a node.
namespace pinfold::nri {

/// The mount that a directory of the cgroups is in. Errors: kNotFound, kIo.
[[nodiscard]] Result<std::string> cgroup_mount_of(const std::string& directory);

/// Errors: kUnsupported if a kubelet with the CPU manager policy static has its state in `root`;
/// kIo.
[[nodiscard]] Result<void> check_kubelet(const std::string& root);

}  // namespace pinfold::nri
