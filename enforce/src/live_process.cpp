#include "pinfold/enforce/live_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "kernel_files.hpp"

namespace pinfold::enforce {
namespace {

/// Returns the number after "NAME:" and white space, in a file with one line for each name.
template <class Number>
std::optional<Number> find_number(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = next_field(text, '\n');
    if (next_field(line, ':') != name) continue;
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
    Number number{};
    return read_number(line, number) ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

tl::unexpected<Error> refused(pid_t pid, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("process {}: {}", pid, what));
}

tl::unexpected<Error> has_ended(pid_t pid) {
  return fail(ErrorCode::kNotFound,
              fmt::format("process {}: it does not exist, or has ended", pid));
}

}  // namespace

Result<LiveProcess> LiveProcess::open(pid_t pid) {
  if (pid <= 0) return refused(pid, "expected a process id");
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd && errno == ESRCH) return has_ended(pid);
  // A kernel before 5.3, or a seccomp filter that blocks the call. EINVAL and ENOENT mean a thread
  // that is not a process leader; check() reports it.
  const bool has_none = errno == ENOSYS || errno == EPERM || errno == EINVAL || errno == ENOENT;
  if (!pidfd && !has_none) return fail_errno(errno, fmt::format("pidfd_open of process {}", pid));
  return check(pid, std::move(pidfd));
}

Result<LiveProcess> LiveProcess::from_pidfd(int pidfd) {
  UniqueFd own(::fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
  if (!own) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("descriptor {}: it is not open", pidfd));
  }
  const auto pid =
      find_number<pid_t>(read_kernel_file(fmt::format("/proc/self/fdinfo/{}", own.get())), "Pid");
  if (!pid) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("descriptor {}: it is not a pidfd", pidfd));
  }
  if (*pid < 0) {
    return fail(ErrorCode::kNotFound, fmt::format("pidfd {}: its process has ended", pidfd));
  }
  if (*pid == 0) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("pidfd {}: its process is in another pid namespace", pidfd));
  }
  return check(*pid, std::move(own));
}

Result<LiveProcess> LiveProcess::check(pid_t pid, UniqueFd pidfd) {
  if (pid == 1) return refused(pid, "it is the init process");
  const auto stat = stat_of(pid);
  if (!stat) return has_ended(pid);
  if (stat->is_kernel_thread) return refused(pid, "it is a kernel thread");
  const auto leader = find_number<pid_t>(read_process_file(pid, "status"), "Tgid");
  if (leader && *leader != pid) {
    return refused(pid, fmt::format("it is a thread of process {}", *leader));
  }
  if (::kill(pid, 0) != 0 && errno != ESRCH) {
    return fail_errno(errno, fmt::format("process {}: this user may not move it: kill", pid));
  }
  LiveProcess process({pid, stat->start_time}, std::move(pidfd));
  if (!process.is_running()) return has_ended(pid);  // the values may be another process's
  return process;
}

bool LiveProcess::is_running() const {
  if (identify(id_.pid) != id_) return false;
  pollfd exit{pidfd_.get(), POLLIN, 0};
  return !pidfd_ || ::poll(&exit, 1, 0) == 0;
}

}  // namespace pinfold::enforce
