#include "pinfold/socket/comparison.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "members.hpp"

namespace pinfold::service {
namespace {

using nlohmann::json;

json to_json(const Difference& difference) {
  return {{"uid", difference.container.pod.value},
          {"namespace", difference.namespace_name},
          {"name", difference.pod_name},
          {"container", difference.container.name},
          {"cpus", difference.desired_cpus.to_string()},
          {"mems", difference.desired_mems.to_string()},
          {"cpusetCpusEffective", difference.observed_cpus.to_string()},
          {"cpusetMemsEffective", difference.observed_mems.to_string()}};
}

CpuSet read_set(Members& members, const char* key) {
  const std::string text = members.text(key);
  auto set = CpuSet::parse(text);
  if (set) return *std::move(set);
  members.fail_at(key, text, "expected a list as \"0-3,8\"");
  return {};
}

Result<Difference> read_difference(const json& value, const std::string& path) {
  Members members(value, path);
  Difference difference;
  difference.container = {PodUid(members.text("uid")), members.text("container")};
  difference.namespace_name = members.text("namespace");
  difference.pod_name = members.text("name");
  difference.desired_cpus = read_set(members, "cpus");
  difference.desired_mems = read_set(members, "mems");
  difference.observed_cpus = read_set(members, "cpusetCpusEffective");
  difference.observed_mems = read_set(members, "cpusetMemsEffective");
  PINFOLD_TRY(members.end());
  return difference;
}

}  // namespace

json to_json(const Comparison& comparison) {
  json differences = json::array();
  for (const Difference& difference : comparison.differences) {
    differences.push_back(to_json(difference));
  }
  return {{"compared", comparison.compared}, {"differences", std::move(differences)}};
}

Result<Comparison> comparison_from_json(const json& value) {
  Members members(value, "comparison");
  Comparison comparison;
  comparison.compared = members.number("compared", std::numeric_limits<std::uint64_t>::max());
  for (const json& difference : members.list("differences")) {
    const std::string path =
        members.path(fmt::format("differences[{}]", comparison.differences.size()));
    PINFOLD_LET(comparison.differences.emplace_back(), read_difference(difference, path));
  }
  PINFOLD_TRY(members.end());
  return comparison;
}

}  // namespace pinfold::service
