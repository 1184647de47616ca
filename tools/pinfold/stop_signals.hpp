#pragma once

#include <signal.h>

#include <chrono>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::tools {

/// Lets SIGINT and SIGTERM end a long command instead of the program, so that it can report what it
/// has found so far. One object at a time; during its life the calling thread blocks the signals.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Waits for a signal or the timeout. Returns true if a signal has arrived, now or earlier.
  [[nodiscard]] bool wait(std::chrono::milliseconds timeout);

  /// Returns a descriptor that is readable after a signal, for waiting for other events as well.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  sigset_t before_{};
  UniqueFd fd_;
  bool has_come_ = false;
};

}  // namespace pinfold::tools
