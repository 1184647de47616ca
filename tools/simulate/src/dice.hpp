#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>

namespace pinfold::simulate {

/// Reproducible random numbers. The standard library's distributions differ between platforms, but
/// its generator does not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}

  /// Returns 0 to n - 1 with equal probability. Domain: n > 0.
  std::size_t below(std::size_t n) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t limit = kMost - kMost % n;  // beyond it, low numbers would be more likely
    std::uint64_t number = generator_();
    while (number >= limit) number = generator_();
    return static_cast<std::size_t>(number % n);
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace pinfold::simulate
