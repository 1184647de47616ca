#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pinfold/predict/pod_query.hpp"

/// Short ways to write NodeResourceTopology objects and predictions.
namespace pinfold::test {

/// The amount of one resource, equal on all zones or one value per zone; capacity, allocatable and
/// available are equal.
struct OnZones {
  std::string resource;
  std::vector<std::string> amounts;  ///< one for each zone; "" where the zone does not report it
};

inline NodeTopology zones_of(const std::string& name, const std::string& policy,
                             const std::string& scope, const std::vector<OnZones>& resources) {
  NodeTopology topology;
  topology.name = name;
  topology.attributes = {{"topologyManagerPolicy", policy}, {"topologyManagerScope", scope}};
  for (const OnZones& row : resources) {
    for (std::size_t i = 0; i < row.amounts.size(); ++i) {
      if (topology.zones.size() <= i) {
        topology.zones.push_back({"node-" + std::to_string(i), "Node", "", {}, {}, {}});
      }
      if (row.amounts[i].empty()) continue;
      const Quantity amount = Quantity::parse(row.amounts[i]).value();
      topology.zones[i].resources.push_back({row.resource, amount, amount, amount});
    }
  }
  return topology;
}

/// Returns two zones of the same size.
inline NodeTopology two_zones(const std::string& policy, const std::string& scope,
                              const std::vector<std::pair<std::string, std::string>>& per_zone,
                              const std::string& name = "n") {
  std::vector<OnZones> rows;
  for (const auto& [resource, amount] : per_zone) rows.push_back({resource, {amount, amount}});
  return zones_of(name, policy, scope, rows);
}

inline void set_available(NodeTopology& topology, std::size_t zone, const std::string& resource,
                          const std::string& amount) {
  for (ZoneResource& candidate : topology.zones.at(zone).resources) {
    if (candidate.name == resource) candidate.available = Quantity::parse(amount).value();
  }
}

/// Returns "rejected", "passes", or the zones: "0-1".
inline std::string predicted(const Fleet& fleet, const PodSpec& pod, std::size_t node = 0) {
  const Prediction prediction =
      PodQuery(fleet, pod).predict(node, ScoringStrategy::kLeastNumaNodes);
  if (prediction.zones.empty()) return std::string(to_string(prediction.outcome));
  return prediction.zones.to_string();
}
inline std::string predicted(const NodeTopology& topology, const PodSpec& pod,
                             std::vector<std::string> ignored = {}) {
  Fleet fleet(std::move(ignored));
  return predicted(fleet, pod, fleet.add(topology).value());
}

}  // namespace pinfold::test
