#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "output.hpp"

namespace pinfold::tools {

/// What `pinfold status --watch` shows at one time.
struct WatchFrame {
  std::string text;
  ExitStatus status = kYes;
};

/// Shows what `draw` gives, in intervals, until a signal or the key q ends it; returns the status
/// of the last frame. On a terminal it redraws the screen, which it restores also after an error;
/// otherwise it prints one frame after the other.
/// Errors: those of `draw`; kIo if standard output cannot be written.
[[nodiscard]] Result<ExitStatus> watch_frames(std::chrono::milliseconds interval,
                                              const std::function<Result<WatchFrame>()>& draw);

}  // namespace pinfold::tools
