#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pinfold::agent {

/// A histogram of durations.
struct Durations {
  /// Upper bounds of the buckets, in seconds; the last bucket has no bound.
  static constexpr std::array<double, 10> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,  0.1,    0.25,  1,    5};
  std::array<std::uint64_t, kBounds.size() + 1> buckets{};  ///< not cumulative
  double sum = 0;                                           ///< seconds

  void observe(std::chrono::duration<double> duration) {
    const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), duration.count());
    ++buckets[static_cast<std::size_t>(bucket - kBounds.begin())];
    sum += duration.count();
  }

  friend bool operator==(const Durations&, const Durations&) = default;
};

/// What an agent has measured since it was opened.
struct Timings {
  Durations commits;       ///< time until the state was durable
  Durations enforcements;  ///< time until a commit was applied to cgroups, or that failed

  friend bool operator==(const Timings&, const Timings&) = default;
};

}  // namespace pinfold::agent
