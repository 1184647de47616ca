#include "pinfold/socket/comparison.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "members.hpp"

namespace pinfold::socket {
namespace {

using nlohmann::json;

json to_json(const verbs::Difference& difference) {
  return {{"uid", difference.container.pod.value},
          {"namespace", difference.namespace_name},
          {"name", difference.pod_name},
          {"container", difference.container.name},
          {"cpus", difference.desired_cpus.to_string()},
          {"mems", difference.desired_mems.to_string()},
          {"cpusetCpusEffective", difference.observed_cpus.to_string()},
          {"cpusetMemsEffective", difference.observed_mems.to_string()},
          {"whyShared", difference.why_shared}};
}

Result<verbs::Difference> read_difference(const json& value, const std::string& path) {
  Members members(value, path);
  verbs::Difference difference;
  difference.container = {PodUid(members.text("uid")), members.text("container")};
  difference.namespace_name = members.text("namespace");
  difference.pod_name = members.text("name");
  difference.desired_cpus = members.cpu_set("cpus");
  difference.desired_mems = members.cpu_set("mems");
  difference.observed_cpus = members.cpu_set("cpusetCpusEffective");
  difference.observed_mems = members.cpu_set("cpusetMemsEffective");
  difference.why_shared = members.text("whyShared");
  PINFOLD_TRY(members.end());
  return difference;
}

}  // namespace

json to_json(const verbs::Comparison& comparison) {
  json differences = json::array();
  for (const verbs::Difference& difference : comparison.differences) {
    differences.push_back(to_json(difference));
  }
  return {{"compared", comparison.compared}, {"differences", std::move(differences)}};
}

Result<verbs::Comparison> comparison_from_json(const json& value) {
  Members members(value, "comparison");
  verbs::Comparison comparison;
  comparison.compared = members.number("compared", std::numeric_limits<std::uint64_t>::max());
  for (const json& difference : members.list("differences")) {
    const std::string path =
        members.path(fmt::format("differences[{}]", comparison.differences.size()));
    PINFOLD_LET(comparison.differences.emplace_back(), read_difference(difference, path));
  }
  PINFOLD_TRY(members.end());
  return comparison;
}

}  // namespace pinfold::socket
