#pragma once

#include <optional>
#include <span>

namespace pinfold::forecast {

/// A quantity at one moment.
struct Point {
  double seconds = 0;
  double bytes = 0;
};

/// Returns how many bytes per second a quantity falls; nullopt unless it falls throughout, by more
/// than its noise. A single step down is not a fall, nor is a fall that has ended. Domain: at least
/// two points, with ascending, different times.
[[nodiscard]] std::optional<double> steady_fall(std::span<const Point> points);

}  // namespace pinfold::forecast
