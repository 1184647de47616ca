#include "hook/hooked_container.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "pinfold/enforce/processes.hpp"
#include "pinfold/text/field.hpp"

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

Result<void> answer_of(const HookRequest& request, std::optional<verbs::Refusal> refusal) {
  if (!refusal) return {};
  Error& error = refusal->error;
  if (!request.pod_file.empty()) {
    error.message = fmt::format("pod file '{}': {}", printable(request.pod_file), refusal->summary);
  }
  return fail(std::move(error));
}

}  // namespace pinfold::tools
