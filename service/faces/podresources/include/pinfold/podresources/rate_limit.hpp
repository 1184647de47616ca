#pragma once

#include <algorithm>
#include <chrono>

namespace pinfold::podresources {

/// Allows `burst` requests at once, and one more every `interval`.
/// Thread-safety: none.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// Domain: burst at least 1.
  RateLimit(Clock::duration interval, int burst) : interval_(interval), burst_(burst) {}

  /// Returns whether a request may be answered now, and if so counts it.
  [[nodiscard]] bool take(Clock::time_point now) {
    const auto start = std::max(full_at_, now);
    if (start - now > interval_ * (burst_ - 1)) return false;
    full_at_ = start + interval_;
    return true;
  }

 private:
  Clock::duration interval_;
  int burst_;
  Clock::time_point full_at_ = Clock::time_point::min();  ///< when a whole burst is allowed again
};

}  // namespace pinfold::podresources
