#include <nlohmann/json.hpp>

#include "pinfold/explain/explanation.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

json to_json(const OccupiedResource& resource) {
  json places = json::array();
  for (const OccupiedPlace& place : resource.places) {
    json holders = json::array();
    for (const Holder& holder : place.holders) {
      json item = {{"name", holder.name}, {"amount", holder.amount.to_string()}};
      if (!holder.spread_over.empty()) item["numaNodes"] = holder.spread_over;
      holders.push_back(std::move(item));
    }
    places.push_back({{"numaNodes", place.numa_nodes},
                      {"free", place.free.to_string()},
                      {"reserved", place.reserved.to_string()},
                      {"held", place.held.to_string()},
                      {"holders", std::move(holders)}});
  }
  return {{"resource", resource.resource},
          {"needed", resource.needed.to_string()},
          {"places", std::move(places)}};
}

json to_json(const PlannedContainer& move) {
  const auto cpus_json = [](const std::optional<CpuSet>& cpus) {
    return cpus ? json(cpus->to_string()) : json();
  };
  return {{"uid", move.id.pod.value},
          {"container", move.id.name},
          {"cpusBefore", cpus_json(move.cpus_before)},
          {"cpusAfter", cpus_json(move.cpus_after)},
          {"bytesMoved", move.bytes_moved}};
}

json to_json(const Remedy& remedy) {
  json out = {{"kind", to_string(remedy.kind)}, {"text", remedy.text}};
  if (remedy.pod) out["pod"] = to_json(*remedy.pod);
  if (remedy.kind == Remedy::Kind::kPods) {
    out["pods"] = json::array();
    for (const PodUid& uid : remedy.pods) out["pods"].push_back(uid.value);
  }
  if (remedy.kind == Remedy::Kind::kMoves) {
    out["moves"] = json::array();
    for (const PlannedContainer& move : remedy.moves) out["moves"].push_back(to_json(move));
  }
  if (remedy.config) out["config"] = to_json(*remedy.config);
  return out;
}

json to_json(const ContainerExplanation& container) {
  const ContainerResources& has = container.resources;
  return {{"name", has.name},
          {"isolation", to_string(has.isolation)},
          {"cpus", has.cpuset_cpus.to_string()},
          {"mems", has.cpuset_mems},
          {"devices", has.devices},
          {"whyCpus", container.cpus},
          {"whyQuota", container.quota}};
}

}  // namespace

nlohmann::json to_json(const Explanation& explanation) {
  json out = {{"uid", explanation.pod.uid.value},
              {"name", explanation.pod.name},
              {"namespace", explanation.pod.namespace_name},
              {"admitted", !explanation.rejection},
              {"reason", explanation.rejection ? explanation.rejection->reason : ""},
              {"message", explanation.rejection ? explanation.rejection->message : ""},
              {"summary", explanation.summary},
              {"notes", explanation.notes},
              {"trace", to_json(explanation.trace)}};
  if (!explanation.rejection) {
    out["containers"] = json::array();
    for (const ContainerExplanation& container : explanation.containers) {
      out["containers"].push_back(to_json(container));
    }
    return out;
  }
  out["resources"] = json::array();
  for (const OccupiedResource& resource : explanation.table) {
    out["resources"].push_back(to_json(resource));
  }
  out["remedies"] = json::array();
  for (const Remedy& remedy : explanation.remedies) out["remedies"].push_back(to_json(remedy));
  out["limit"] = explanation.limit;
  return out;
}

}  // namespace pinfold
