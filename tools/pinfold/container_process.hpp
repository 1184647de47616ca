#pragma once

#include <sys/types.h>

#include <string>

#include "pinfold/base/result.hpp"
#include "pinfold/enforce/live_process.hpp"

namespace pinfold::tools {

/// Opens the first process of a container. Errors: those of LiveProcess::open; kInvalidArgument if
/// it is this process or one of its ancestors.
[[nodiscard]] Result<enforce::LiveProcess> open_container_process(pid_t pid);

/// Checks that only a process and its descendants run in a cgroup.
/// Errors: kInvalidArgument; those of open_named_cgroup_fs.
[[nodiscard]] Result<void> check_group(const enforce::LiveProcess& process,
                                       const std::string& directory);

}  // namespace pinfold::tools
