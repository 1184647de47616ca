#pragma once

#include <chrono>
#include <cstdint>

namespace pinfold::kube {

/// Waits that double with each failure, with jitter from a seed, so that many clients do not return
/// at the same time.
class Backoff {
 public:
  /// `least`: the wait after the first failure. `most`: the longest one.
  Backoff(std::chrono::milliseconds least, std::chrono::milliseconds most, std::uint64_t seed)
      : least_(least), most_(most), random_(seed) {}

  /// Returns how long to wait after one more failure: between half of the wait and all of it.
  [[nodiscard]] std::chrono::milliseconds next();
  /// Begins again with the shortest wait.
  void reset() { failures_ = 0; }
  /// Returns the number of failures since reset().
  [[nodiscard]] int failures() const { return failures_; }

  /// Returns the next of a sequence of 31-bit numbers that follows from the seed.
  [[nodiscard]] std::uint64_t random();

 private:
  std::chrono::milliseconds least_;
  std::chrono::milliseconds most_;
  std::uint64_t random_;
  int failures_ = 0;
};

}  // namespace pinfold::kube
