#include "container_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "pinfold/enforce/processes.hpp"

namespace pinfold::tools {

Result<enforce::LiveProcess> open_container_process(pid_t pid) {
  PINFOLD_LET_WRAP(auto process, enforce::LiveProcess::open(pid), "state.pid");
  if (enforce::descends_from(::getpid(), pid)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("state.pid: process {}: it is the hook or one of its parents, expected "
                            "the container's process",
                            pid));
  }
  return process;
}

Result<void> check_group(const enforce::LiveProcess& process, const std::string& directory) {
  PINFOLD_LET(const auto pids, enforce::processes_below(directory));
  for (const pid_t other : pids) {
    // Ignore a process that has ended since; its parents are unknown.
    if (enforce::descends_from(other, process.pid()) || !enforce::identify(other)) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("process {} runs in the container's cgroup '{}' and does not descend "
                            "from the container's process {}: expected a separate cgroup",
                            other, directory, process.pid()));
  }
  return {};
}

}  // namespace pinfold::tools
