#pragma once

#include <sys/types.h>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/enforce/processes.hpp"

namespace pinfold::enforce {

/// A running process that the caller may move into a group: one that it may signal, in its pid
/// namespace or one below, and neither process 1 nor a kernel thread. Held by a pidfd (by its start
/// time before Linux 5.3), so that a later process with the same number is not mistaken for it.
class LiveProcess {
 public:
  /// Opens a process. Errors: kInvalidArgument if the number is not a process id, or means process
  /// 1, a kernel thread, or a thread that is not its process's first; kNotFound if the process does
  /// not exist or has ended; kIo if the caller may not signal it.
  [[nodiscard]] static Result<LiveProcess> open(pid_t pid);
  /// Takes the process from a pidfd; the caller keeps the pidfd. Errors: also kInvalidArgument for
  /// any other descriptor; kUnsupported if the process has no number in the caller's pid namespace.
  [[nodiscard]] static Result<LiveProcess> from_pidfd(int pidfd);

  [[nodiscard]] pid_t pid() const { return id_.pid; }
  [[nodiscard]] const ProcessId& id() const { return id_; }
  /// Returns false once the process has ended; from then on its number may mean another process.
  [[nodiscard]] bool is_running() const;

 private:
  LiveProcess(ProcessId id, UniqueFd pidfd) : id_(id), pidfd_(std::move(pidfd)) {}
  [[nodiscard]] static Result<LiveProcess> check(pid_t pid, UniqueFd pidfd);

  ProcessId id_;
  UniqueFd pidfd_;  ///< empty if the kernel has no pidfds
};

}  // namespace pinfold::enforce
