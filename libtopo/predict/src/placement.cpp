#include "pinfold/predict/placement.hpp"

#include <algorithm>

#include "pinfold/api/pod.hpp"

namespace pinfold {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 57;
constexpr std::int64_t kNanoOfWhole = 1'000'000'000;
constexpr std::int64_t kNanoOfThousandth = 1'000'000;

}  // namespace

void Placement::add(int zone, ResourceId resource, std::int64_t amount) {
  if (amount == 0) return;
  const Share share{zone, resource, amount};
  const auto at = std::lower_bound(shares.begin(), shares.end(), Share{zone, resource, 0});
  if (at != shares.end() && at->zone == zone && at->resource == resource) {
    at->amount += amount;
  } else {
    shares.insert(at, share);
  }
}

std::int64_t fleet_units(const std::string& resource, const Quantity& amount, Rounding rounding) {
  const std::int64_t unit = resource == "cpu" ? kNanoOfThousandth : kNanoOfWhole;
  const Quantity::Int128 nano = amount.nano() + (rounding == Rounding::kUp ? unit - 1 : 0);
  return static_cast<std::int64_t>(std::clamp<Quantity::Int128>(nano / unit, 0, kMost));
}

Quantity from_fleet_units(const std::string& resource, std::int64_t amount) {
  return from_base_units(resource, amount);
}

}  // namespace pinfold
