#include "pinfold/predict/bound_pods.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

std::optional<int> find_zone(const Fleet& fleet, std::size_t node, const std::string& name) {
  for (int zone = 0; zone < fleet.zone_count(node); ++zone) {
    if (fleet.zone_name(node, zone) == name) return zone;
  }
  return std::nullopt;
}

}  // namespace

const Placement* PlacementRecord::known() const {
  if (observed) return &*observed;
  return predicted ? &*predicted : nullptr;
}

void reconstruct(Fleet& fleet, const std::vector<BoundPod>& pods) {
  for (std::size_t node = 0; node < fleet.size(); ++node) fleet.clear(node);
  for (const BoundPod& pod : pods) {
    if (const Placement* const placement = pod.record.known()) fleet.charge(pod.node, *placement);
  }
}

std::vector<ZoneAmount> amounts_of(const Fleet& fleet, std::size_t node,
                                   const Placement& placement) {
  std::vector<ZoneAmount> amounts;
  for (const Share& share : placement.shares) {
    const std::string& resource = fleet.resource_name(share.resource);
    amounts.push_back({fleet.zone_name(node, share.zone), resource,
                       base_units(resource, from_fleet_units(resource, share.amount))});
  }
  return amounts;
}

Result<Placement> placement_of(const Fleet& fleet, std::size_t node,
                               const std::vector<ZoneAmount>& amounts) {
  Placement placement;
  const auto reported = fleet.resources_of_shape(fleet.shape_number(node));
  for (const ZoneAmount& one : amounts) {
    const auto zone = find_zone(fleet, node, one.zone);
    if (!zone) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("zone '{}': expected a zone of node '{}'", printable(one.zone),
                              fleet.name(node)));
    }
    const auto id = fleet.resource_id(one.resource);
    if (!id || !std::binary_search(reported.begin(), reported.end(), *id)) continue;
    placement.add(
        *zone, *id,
        fleet_units(one.resource, from_base_units(one.resource, one.amount), Rounding::kUp));
  }
  return placement;
}

}  // namespace pinfold
