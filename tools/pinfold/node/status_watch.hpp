#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "output.hpp"

namespace pinfold::tools {

/// One frame of `pinfold status --watch`.
struct WatchFrame {
  std::string text;
  ExitStatus status = kYes;
};

/// Shows the result of `draw` at intervals until a signal or the key q ends it; returns the status
/// of the last frame. On a terminal it redraws the screen, and restores it even after an error;
/// otherwise it prints one frame after another.
/// Errors: those of `draw`; kIo if standard output cannot be written.
[[nodiscard]] Result<ExitStatus> watch_frames(std::chrono::milliseconds interval,
                                              const std::function<Result<WatchFrame>()>& draw);

}  // namespace pinfold::tools
