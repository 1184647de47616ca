#pragma once

#include <sys/types.h>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/enforce/processes.hpp"

namespace pinfold::enforce {

/// A running process that the caller may move into a group: one that it may send signals to, in its
/// pid namespace or in one below, and neither process 1 nor a thread of the kernel. It is held by a
/// pidfd (by its start time on kernels before 5.3), so that a later process with its number is not
/// taken for it.
class LiveProcess {
 public:
  /// Errors: kInvalidArgument for a number that is no process id, for process 1, a thread of the
  /// kernel and a thread that is not its process' first; kNotFound for a process that does not
  /// exist or has ended; kIo for one that the caller may not signal.
  [[nodiscard]] static Result<LiveProcess> open(pid_t pid);
  /// The process of a pidfd, which stays the caller's. Errors: also kInvalidArgument for another
  /// descriptor; kUnsupported for a process that has no number in the caller's pid namespace.
  [[nodiscard]] static Result<LiveProcess> from_pidfd(int pidfd);

  [[nodiscard]] pid_t pid() const { return id_.pid; }
  [[nodiscard]] const ProcessId& id() const { return id_; }
  /// False as soon as the process has ended; then its number may be another process'.
  [[nodiscard]] bool is_running() const;

 private:
  LiveProcess(ProcessId id, UniqueFd pidfd) : id_(id), pidfd_(std::move(pidfd)) {}
  [[nodiscard]] static Result<LiveProcess> check(pid_t pid, UniqueFd pidfd);

  ProcessId id_;
  UniqueFd pidfd_;  ///< none if the kernel has no pidfds
};

}  // namespace pinfold::enforce
