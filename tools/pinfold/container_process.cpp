#include "container_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "pinfold/enforce/processes.hpp"

namespace pinfold::tools {
namespace {

tl::unexpected<Error> fail_pid(pid_t pid, const char* problem) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("state.pid: {}: {}: expected the container's process", pid, problem));
}

}  // namespace

Result<ContainerProcess> ContainerProcess::open(pid_t pid) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
  if (!fd && errno == ENOSYS) {
    return fail(ErrorCode::kUnsupported,
                "the kernel has no pidfd_open (Linux 5.3), which the hook needs");
  }
  if (!fd) return fail_errno(errno, fmt::format("state.pid: {}", pid));
  const auto stat = enforce::stat_of(pid);
  if (!stat) return fail_pid(pid, "it has ended");
  if (stat->is_kernel_thread) return fail_pid(pid, "a thread of the kernel");
  if (enforce::descends_from(::getpid(), pid)) {
    return fail_pid(pid, "the hook or one of its parents");
  }
  return ContainerProcess(pid, std::move(fd));
}

bool ContainerProcess::has_ended() const {
  pollfd event{fd_.get(), POLLIN, 0};
  return ::poll(&event, 1, 0) != 0;
}

Result<void> ContainerProcess::check_group(const std::string& directory) const {
  PINFOLD_LET(const auto pids, enforce::processes_below(directory));
  for (const pid_t other : pids) {
    // One that has ended since has no parents to look at.
    if (enforce::descends_from(other, pid_) || !enforce::identify(other)) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("process {} runs in the container's cgroup '{}' and does not descend "
                            "from the container's process {}: expected a separate cgroup",
                            other, directory, pid_));
  }
  return {};
}

}  // namespace pinfold::tools
