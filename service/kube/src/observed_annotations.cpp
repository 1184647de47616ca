#include "pinfold/kube/observed_annotations.hpp"

#include <nlohmann/json.hpp>

#include "pinfold/api/pod.hpp"

namespace pinfold::kube {

using nlohmann::json;

std::string observed_text(const std::vector<ZoneAmount>& amounts) {
  json zones = json::array();
  for (const ZoneAmount& one : amounts) {
    if (zones.empty() || zones.back()["zone"] != one.zone) zones.push_back({{"zone", one.zone}});
    const Quantity amount = from_base_units(one.resource, one.amount);
    zones.back()["amount"][one.resource] = amount.to_string();
  }
  return zones.dump();
}

std::string memory_groups_text(const std::vector<MemoryGroup>& groups) {
  json out = json::array();
  for (const MemoryGroup& group : groups) {
    json amounts = json::object();
    for (const auto& [type, bytes] : group.amounts) amounts[type] = std::to_string(bytes);
    out.push_back({{"memoryNodes", group.zones}, {"amount", std::move(amounts)}});
  }
  return out.dump();
}

}  // namespace pinfold::kube
