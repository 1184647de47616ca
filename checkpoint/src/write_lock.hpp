#pragma once

#include <memory>
#include <string>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint {

/// The lock of a state directory across processes. Released by the destructor, and by the kernel
/// however the process ends.
class WriteLock {
 public:
  /// Acquires the lock. Both files are created if necessary. A process locks `queue` before it
  /// waits for `file`, so a process that releases the lock and wants it again waits behind those
  /// that are waiting already. Errors: kBusy after the timeout and for an interrupted wait (errno
  /// EINTR), with the process that holds the lock if it is visible; kIo.
  [[nodiscard]] static Result<std::unique_ptr<WriteLock>> acquire(const std::string& file,
                                                                  const std::string& queue,
                                                                  LockWait wait);

  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  ~WriteLock();

 private:
  struct Held;
  explicit WriteLock(std::unique_ptr<Held> held);

  std::unique_ptr<Held> held_;
};

}  // namespace pinfold::checkpoint
