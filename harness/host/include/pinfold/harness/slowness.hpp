#pragma once

#include <string>

#include "pinfold/harness/process.hpp"

/// How fast this host is at the moment, for time limits.
namespace pinfold::harness {

/// Returns how much slower a host is than the reference host of the time limits, if the loop of
/// host_slowness() takes it this long: 1 to 10, rounded to the nearest half. Pure.
[[nodiscard]] double slowness_of(Milliseconds took);

/// Runs a loop that takes a twentieth of a second on an idle host, and returns slowness_of() its
/// duration.
[[nodiscard]] double host_slowness();

/// Returns "limit 90 s", or "limit 135 s, 1.5 times the usual one as this host is slow now".
[[nodiscard]] std::string limit_text(Milliseconds limit, double slowness);

/// A time limit on a host that is as slow as this one, which begins with the object.
class HostLimit {
 public:
  HostLimit(Milliseconds usual, double slowness);

  [[nodiscard]] Milliseconds limit() const { return limit_; }
  /// Returns "booting (limit 90 s; --time-scale gives more time)".
  [[nodiscard]] std::string explain(const std::string& doing) const;
  /// Returns the same if the limit has expired, else only `doing`.
  [[nodiscard]] std::string explain_if_expired(const std::string& doing) const;

 private:
  double slowness_;
  Milliseconds limit_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace pinfold::harness
