#include "scoring.hpp"

#include <algorithm>
#include <cmath>

namespace pinfold::predict {

void Scoring::add(NumaMask zones, std::span<const ZoneDemand> demands) {
  zones_ = zones_ | zones;
  if (strategy_ == ScoringStrategy::kLeastNumaNodes) return;
  for (const ZoneDemand& demand : demands) add_fraction(zones, demand);
}

void Scoring::add_fraction(NumaMask zones, const ZoneDemand& demand) {
  std::int64_t all = 0;
  std::int64_t available = 0;
  for (const int zone : zones.positions()) {
    all += demand.allocatable[zone];
    available += demand.available[zone];
  }
  const auto used = static_cast<double>(all - available + demand.amount);
  const double fraction = all == 0 ? 1 : std::clamp(used / static_cast<double>(all), 0.0, 1.0);
  ++count_;
  sum_ += fraction;
  sum_of_squares_ += fraction * fraction;
}

std::uint8_t Scoring::score() const {
  if (zones_.empty()) return 0;
  if (strategy_ == ScoringStrategy::kLeastNumaNodes) {
    return static_cast<std::uint8_t>(100 / zones_.count());
  }
  const double mean = sum_ / count_;
  double value = mean;
  if (strategy_ == ScoringStrategy::kLeastAllocated) value = 1 - mean;
  if (strategy_ == ScoringStrategy::kBalancedAllocation) {
    value = 1 - std::sqrt(std::max(0.0, sum_of_squares_ / count_ - mean * mean));
  }
  return static_cast<std::uint8_t>(std::lround(100 * value));
}

}  // namespace pinfold::predict
