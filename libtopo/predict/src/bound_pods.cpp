#include "pinfold/predict/bound_pods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

std::optional<int> find_zone(const Fleet& fleet, std::size_t node, const std::string& name) {
  for (int zone = 0; zone < fleet.zone_count(node); ++zone) {
    if (fleet.zone_name(node, zone) == name) return zone;
  }
  return std::nullopt;
}

/// Adds the amounts of one zone to `placement`.
Result<void> read_shares(const Fleet& fleet, std::size_t node, int zone, const json& amounts,
                         Placement& placement) {
  const std::string& name = fleet.zone_name(node, zone);
  if (!amounts.is_object()) return fail_field(name, amounts, "expected amounts by resource");
  const auto reported = fleet.resources_of_shape(fleet.shape_number(node));
  for (const auto& [resource, value] : amounts.items()) {
    const std::string path = join(name, resource);
    PINFOLD_LET(const auto text, scalar_text(path, value));
    const auto amount = Quantity::parse(text);
    if (!amount) return fail_field(path, value, amount.error().message);
    if (amount->sign() < 0) return fail_field(path, value, "expected 0 or more");
    const auto id = fleet.resource_id(resource);
    if (!id || !std::binary_search(reported.begin(), reported.end(), *id)) continue;
    placement.add(zone, *id, fleet_units(resource, *amount, Rounding::kUp));
  }
  return {};
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

json to_json(const Fleet& fleet, std::size_t node, const Placement& placement) {
  json out = json::object();
  for (const Share& share : placement.shares) {
    const std::string& resource = fleet.resource_name(share.resource);
    out[fleet.zone_name(node, share.zone)][resource] =
        from_fleet_units(resource, share.amount).to_string();
  }
  return out;
}

Result<Placement> placement_from_json(const Fleet& fleet, std::size_t node, const json& document) {
  if (!document.is_object()) return fail_field("placement", document, "expected zones");
  Placement placement;
  for (const auto& [name, amounts] : document.items()) {
    const auto zone = find_zone(fleet, node, name);
    if (!zone) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("zone '{}': expected a zone of node '{}'", printable(name),
                              fleet.name(node)));
    }
    PINFOLD_TRY(read_shares(fleet, node, *zone, amounts, placement));
  }
  return placement;
}

Result<BoundPod> bound_pod_from_json(const Fleet& fleet, const json& document) {
  if (!document.is_object()) return fail_field("pod", document, "expected an object");
  BoundPod pod;
  std::string node;
  for (const auto& [key, text] : {std::pair("uid", &pod.uid.value), std::pair("node", &node)}) {
    const json* const value = member(document, key);
    if (value == nullptr || !value->is_string()) {
      return fail_field(key, value == nullptr ? json() : *value, "expected a string");
    }
    *text = value->get<std::string>();
  }
  const auto number = fleet.find(node);
  if (!number) return fail_field("node", node, "expected the name of a node");
  pod.node = *number;
  for (const auto& [key, placement] : {std::pair("predicted", &pod.record.predicted),
                                       std::pair("observed", &pod.record.observed)}) {
    const json* const value = member(document, key);
    if (value == nullptr) continue;
    PINFOLD_LET_WRAP(auto read, placement_from_json(fleet, pod.node, *value),
                     fmt::format("pod '{}': {}", pod.uid, key));
    *placement = std::move(read);
  }
  return pod;
}

json to_json(const Fleet& fleet, const BoundPod& pod) {
  json out = {{"uid", pod.uid.value}, {"node", fleet.name(pod.node)}};
  if (pod.record.predicted) out["predicted"] = to_json(fleet, pod.node, *pod.record.predicted);
  if (pod.record.observed) out["observed"] = to_json(fleet, pod.node, *pod.record.observed);
  return out;
}

}  // namespace pinfold
