#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/types/quantity.hpp"

namespace pinfold {

/// A resource, as numbered by a Fleet.
using ResourceId = std::uint16_t;

/// An amount of a resource on a zone. Unit: see Fleet.
struct Share {
  int zone = 0;  ///< position among the node's zones
  ResourceId resource = 0;
  std::int64_t amount = 0;

  friend auto operator<=>(const Share&, const Share&) = default;
};

/// The zones and amounts of a pod on its node. Placements that divide the amounts differently among
/// the same zones are not equal.
struct Placement {
  std::vector<Share> shares;  ///< ascending, each zone and resource once, amounts above 0

  /// Adds an amount to the share of that zone and resource.
  void add(int zone, ResourceId resource, std::int64_t amount);

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Converts an amount of a resource to the unit of the fleet (thousandths for "cpu"), rounded up or
/// down.
enum class Rounding { kUp, kDown };
[[nodiscard]] std::int64_t fleet_units(const std::string& resource, const Quantity& amount,
                                       Rounding rounding);
/// Converts back from fleet_units, for output.
[[nodiscard]] Quantity from_fleet_units(const std::string& resource, std::int64_t amount);

}  // namespace pinfold
