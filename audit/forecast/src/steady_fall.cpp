#include "steady_fall.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

// How it works
//
// The rate is the median of the slopes between all pairs of points (Theil and Sen): a few points
// that are far off, as from one large allocation, do not change it. It counts only if the fall over
// all points is several times the typical distance from that line, and if it continues: each half
// of the points must fall at half the rate, and the last two at a quarter. An allocation of up to
// 15 seconds fails one of these before its forecast has lasted for as long as an alarm must.

namespace pinfold::forecast {
namespace {

constexpr double kSignalToNoise = 4;
constexpr double kLeastOfHalf = 0.5;
constexpr double kLeastOfLast = 0.25;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double fall_between(const Point& before, const Point& after) {
  return (before.bytes - after.bytes) / (after.seconds - before.seconds);
}

double median_fall(std::span<const Point> points) {
  std::vector<double> falls;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      falls.push_back(fall_between(points[i], points[j]));
    }
  }
  return median(std::move(falls));
}

/// Returns the median distance of the points from the line that falls at this rate.
double noise_around(std::span<const Point> points, double rate) {
  std::vector<double> heights;
  for (const Point& point : points) heights.push_back(point.bytes + rate * point.seconds);
  const double height = median(heights);
  for (double& one : heights) one = std::abs(one - height);
  return median(std::move(heights));
}

}  // namespace

std::optional<double> steady_fall(std::span<const Point> points) {
  const double rate = median_fall(points);
  const Point& first = points.front();
  const Point& middle = points[points.size() / 2];
  const Point& last = points.back();
  const double fall = rate * (last.seconds - first.seconds);
  const bool goes_on = fall_between(first, middle) >= kLeastOfHalf * rate &&
                       fall_between(middle, last) >= kLeastOfHalf * rate &&
                       fall_between(points[points.size() - 2], last) >= kLeastOfLast * rate;
  const bool is_fall = rate > 0 && fall >= kSignalToNoise * noise_around(points, rate);
  return is_fall && goes_on ? std::optional(rate) : std::nullopt;
}

}  // namespace pinfold::forecast
