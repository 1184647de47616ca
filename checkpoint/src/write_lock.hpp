#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold::checkpoint {

/// The lock of one state directory across processes. Released when destroyed, and by the kernel
/// when the process ends in any way.
class WriteLock {
 public:
  /// Two files, which are made if they do not exist. A process locks `queue` before it waits for
  /// `file`, so a process that releases the lock and wants it again waits behind those that wait
  /// already. Errors: kBusy after `timeout`, with the process that holds the lock if it is visible;
  /// kIo.
  [[nodiscard]] static Result<std::unique_ptr<WriteLock>> acquire(
      const std::string& file, const std::string& queue, std::chrono::milliseconds timeout);

  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  ~WriteLock();

 private:
  struct Held;
  explicit WriteLock(std::unique_ptr<Held> held);

  std::unique_ptr<Held> held_;
};

}  // namespace pinfold::checkpoint
