#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "hook/oci.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/enforce/live_process.hpp"
#include "pinfold/verbs/hooked.hpp"

/// The container that a runtime runs the hook for.
namespace pinfold::tools {

/// Opens the first process of a container. Errors: those of LiveProcess::open; kInvalidArgument if
/// it is this process or one of its ancestors.
[[nodiscard]] Result<enforce::LiveProcess> open_container_process(pid_t pid);

/// Checks that only a process and its descendants run in a cgroup.
/// Errors: kInvalidArgument; those of open_named_cgroup_fs.
[[nodiscard]] Result<void> check_group(const enforce::LiveProcess& process,
                                       const std::string& directory);

/// Returns the error that the author of a container reads if the hook's request fails. It does not
/// quote a pod from a pod file, which the author may not be permitted to read.
[[nodiscard]] Result<void> answer_of(const HookRequest& request,
                                     std::optional<verbs::Refusal> refusal);

}  // namespace pinfold::tools
