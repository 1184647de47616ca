#pragma once

#include <signal.h>

#include <chrono>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::tools {

/// SIGINT and SIGTERM end a long command instead of the program, so that it can say what it found
/// until then. One at a time: until it is destroyed, the calling thread does not see the signals.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Waits for one of them, or until the time is over. True: one has come, now or earlier.
  [[nodiscard]] bool wait(std::chrono::milliseconds timeout);

  /// Readable when one has come, to wait for other things, too.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  sigset_t before_{};
  UniqueFd fd_;
  bool has_come_ = false;
};

}  // namespace pinfold::tools
