#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::tools {

/// The first process of a container, held by a pidfd: until it has ended, its number belongs to no
/// other process, so what was read of the number before is true of this process.
class ContainerProcess {
 public:
  /// Errors: kInvalidArgument if it has ended, is a kernel thread, or is this process or one of its
  /// parents; kIo if there is no such process; kUnsupported on a kernel without pidfd_open (Linux
  /// 5.3).
  [[nodiscard]] static Result<ContainerProcess> open(pid_t pid);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool has_ended() const;
  /// Checks that only this process and its descendants run in a cgroup.
  /// Errors: kInvalidArgument; those of open_named_cgroup_fs.
  [[nodiscard]] Result<void> check_group(const std::string& directory) const;

 private:
  ContainerProcess(pid_t pid, UniqueFd fd) : pid_(pid), fd_(std::move(fd)) {}

  pid_t pid_;
  UniqueFd fd_;
};

}  // namespace pinfold::tools
