#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pod_query_walk.hpp"

namespace pinfold {
namespace {

std::string zone_list(const Fleet& fleet, std::size_t node, NumaMask zones) {
  std::vector<std::string> names;
  for (const int zone : zones.positions()) names.push_back(fleet.zone_name(node, zone));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string counted_zones(int count) {
  return fmt::format("{} zone{}", count, count == 1 ? "" : "s");
}

}  // namespace

std::string PodQuery::explain(std::size_t node) {
  const TopologyPolicy policy = fleet_->policy(node);
  if (fleet_->zone_count(node) == 0) return "the node reports no zones: nothing is predicted";
  const auto lacks = shortage(node);
  if (policy == TopologyPolicy::kNone) {
    return lacks ? shortage_text(node, *lacks) : "policy none aligns nothing";
  }
  const Scope& scope = scope_of(node);
  const Plan& plan = scope.plans[fleet_->shape_number(node)];
  std::vector<std::string> aligned;
  const std::size_t fitting = walk(node, [&](std::size_t item, NumaMask zones) {
    const std::string& name = scope.items[item].name;
    aligned.push_back((name.empty() ? "" : fmt::format("container '{}': ", name)) +
                      zone_list(*fleet_, node, zones));
  });
  const bool is_aligned = fitting == plan.size();
  if (lacks && (is_aligned || policy == TopologyPolicy::kBestEffort)) {
    return shortage_text(node, *lacks);
  }
  if (is_aligned) {
    return aligned.empty() ? "the node reports nothing by zone that the pod would align"
                           : fmt::format("{}", fmt::join(aligned, "; "));
  }
  const std::string& name = scope.items[fitting].name;
  return (policy == TopologyPolicy::kBestEffort ? "not aligned: " : "") +
         (name.empty() ? "pod: " : fmt::format("container '{}': ", name)) +
         why_not_aligned(node, plan[fitting]);
}

std::string PodQuery::shortage_text(std::size_t node, const Shortage& shortage) const {
  const auto reported = fleet_->resources_of_shape(fleet_->shape_number(node));
  const std::string& resource = fleet_->resource_name(reported[shortage.row]);
  return fmt::format("all zones together have {} {} {}, {} requested",
                     from_fleet_units(resource, shortage.total).to_string(), resource,
                     shortage.is_available ? "available" : "allocatable",
                     from_fleet_units(resource, shortage.amount).to_string());
}

std::string PodQuery::why_not_aligned(std::size_t node,
                                      const std::vector<RowRequest>& requests) const {
  const auto reported = fleet_->resources_of_shape(fleet_->shape_number(node));
  const int zones = fleet_->zone_count(node);
  const bool single = fleet_->policy(node) == TopologyPolicy::kSingleNumaNode;
  std::vector<std::string> amounts;
  std::vector<std::string> fits;
  std::vector<std::string> widths;
  int least = NumaMask::kMaxNodes;
  int most = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string& resource = fleet_->resource_name(reported[requests[i].row]);
    if (requests[i].amount == kNever) {
      return fmt::format("its exclusive containers leave no {} for its shared containers",
                         resource);
    }
    const std::string what =
        fmt::format("{} {}", resource, from_fleet_units(resource, requests[i].amount).to_string());
    const NumaMask where = zones_that_fit(zones, demands_[i]);
    const int width = preferred_width(zones, demands_[i]);
    amounts.push_back(what);
    fits.push_back(fmt::format("{} fits {}", resource,
                               where.empty() ? "none" : zone_list(*fleet_, node, where)));
    if (width == 0 && !single) return fmt::format("{} is more than all zones have", what);
    widths.push_back(fmt::format("{} prefers {}", what, counted_zones(width)));
    least = std::min(least, width);
    most = std::max(most, width);
  }
  const std::string all = fmt::format("{}", fmt::join(amounts, " and "));
  if (single || most <= 1) {
    return fmt::format("no zone has {}: {}", all, fmt::join(fits, ", "));
  }
  if (least != most) {
    return fmt::format("{}: no number of zones is preferred for every resource",
                       fmt::join(widths, ", "));
  }
  return fmt::format("needs {}, and no {} have {} free", counted_zones(most), most, all);
}

}  // namespace pinfold
