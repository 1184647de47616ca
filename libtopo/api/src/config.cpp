#include "pinfold/api/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "kubelet_fields.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

using nlohmann::json;
using StringMap = std::map<std::string, std::string>;

constexpr std::string_view kApiVersion = "kubelet.config.k8s.io/v1beta1";
constexpr std::string_view kKind = "KubeletConfiguration";

constexpr std::array<std::pair<std::string_view, bool FeatureGates::*>, 9> kGates = {{
    {"PodLevelResources", &FeatureGates::pod_level_resources},
    {"PodLevelResourceManagers", &FeatureGates::pod_level_resource_managers},
    {"CPUManagerPolicyAlphaOptions", &FeatureGates::cpu_manager_policy_alpha_options},
    {"CPUManagerPolicyBetaOptions", &FeatureGates::cpu_manager_policy_beta_options},
    {"TopologyManagerPolicyAlphaOptions", &FeatureGates::topology_manager_policy_alpha_options},
    {"TopologyManagerPolicyBetaOptions", &FeatureGates::topology_manager_policy_beta_options},
    {"DisableCPUQuotaWithExclusiveCPUs", &FeatureGates::disable_cpu_quota_with_exclusive_cpus},
    {"CustomCPUCFSQuotaPeriod", &FeatureGates::custom_cpu_cfs_quota_period},
    {"InPlacePodLevelResourcesVerticalScaling",
     &FeatureGates::in_place_pod_level_resources_vertical_scaling},
}};

constexpr std::array<std::pair<std::string_view, std::string Config::*>, 6> kTexts = {{
    {"cpuManagerPolicy", &Config::cpu_manager_policy},
    {"reservedSystemCPUs", &Config::reserved_system_cpus},
    {"memoryManagerPolicy", &Config::memory_manager_policy},
    {"topologyManagerPolicy", &Config::topology_manager_policy},
    {"topologyManagerScope", &Config::topology_manager_scope},
    {"cpuCFSQuotaPeriod", &Config::cpu_cfs_quota_period},
}};

constexpr std::array<std::pair<std::string_view, StringMap Config::*>, 4> kMaps = {{
    {"cpuManagerPolicyOptions", &Config::cpu_manager_policy_options},
    {"kubeReserved", &Config::kube_reserved},
    {"systemReserved", &Config::system_reserved},
    {"topologyManagerPolicyOptions", &Config::topology_manager_policy_options},
}};

template <class Table>
bool names(const Table& table, std::string_view field) {
  return std::any_of(table.begin(), table.end(),
                     [&](const auto& entry) { return entry.first == field; });
}

Result<bool> read_bool(std::string_view path, const json& value) {
  if (!value.is_boolean()) return fail_field(path, value, "expected true or false");
  return value.get<bool>();
}

Result<StringMap> read_map(std::string_view path, const json& value) {
  if (!value.is_object()) return fail_field(path, value, "expected an object");
  StringMap map;
  for (const auto& [key, entry] : value.items()) {
    PINFOLD_LET(auto text, scalar_text(join(path, key), entry));
    map.emplace(key, std::move(text));
  }
  return map;
}

Result<void> read_text(std::string_view field, const json& value, std::string& target) {
  PINFOLD_LET(auto text, scalar_text(field, value));
  // As in the kubelet, an empty text leaves the default; only an empty period is an error.
  if (!text.empty() || field == "cpuCFSQuotaPeriod") target = std::move(text);
  return {};
}

Result<void> read_gates(std::string_view field, const json& value, Config& config) {
  if (!value.is_object()) return fail_field(field, value, "expected an object");
  for (const auto& [gate, entry] : value.items()) {
    PINFOLD_LET(const auto on, read_bool(join(field, gate), entry));
    config.feature_gates.emplace(gate, on);
  }
  return {};
}

Result<void> read_reserved_memory(std::string_view field, const json& value, Config& config) {
  if (!value.is_array()) return fail_field(field, value, "expected a list");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", field, i);
    if (!value[i].is_object()) return fail_field(path, value[i], "expected an object");
    MemoryReservation reservation;
    if (const json* node = member(value[i], "numaNode")) {
      using Limits = std::numeric_limits<std::int32_t>;
      if (!node->is_number_integer() || *node < Limits::min() || *node > Limits::max()) {
        return fail_field(path + ".numaNode", *node, "expected the id of a NUMA node");
      }
      reservation.numa_node = node->get<std::int32_t>();
    }
    if (const json* limits = member(value[i], "limits")) {
      PINFOLD_LET(reservation.limits, read_map(path + ".limits", *limits));
    }
    config.reserved_memory.push_back(std::move(reservation));
  }
  return {};
}

Result<void> read_pinfold_settings(std::string_view field, const json& value, Config& config) {
  if (!value.is_object()) return fail_field(field, value, "expected an object");
  for (const auto& [key, entry] : value.items()) {
    const std::string path = join(field, key);
    PINFOLD_LET(const auto text, scalar_text(path, entry));
    if (key == "profile") {
      PINFOLD_LET_WRAP(config.profile, parse_profile(text), path);
    } else if (key == "partition") {
      PINFOLD_LET_WRAP(config.partition, parse_partition(text), path);
    } else {
      return fail_field(path, entry, "unknown field, expected 'profile' or 'partition'");
    }
  }
  return {};
}

Result<void> expect_text(std::string_view field, const json& value, std::string_view text) {
  if (value == text) return {};
  return fail_field(field, value, fmt::format("expected '{}'", text));
}

/// Reads one field that is not null; fields that decide nothing are ignored.
Result<void> read_field(const std::string& field, const json& value, Config& config) {
  for (const auto& [name, text] : kTexts) {
    if (field == name) return read_text(field, value, config.*text);
  }
  for (const auto& [name, map] : kMaps) {
    if (field != name) continue;
    PINFOLD_LET(config.*map, read_map(field, value));
    return {};
  }
  if (field == "evictionHard") {
    PINFOLD_LET(config.eviction_hard, read_map(field, value));
    return {};
  }
  if (field == "cpuCFSQuota") {
    PINFOLD_LET(config.cpu_cfs_quota, read_bool(field, value));
    return {};
  }
  if (field == "featureGates") return read_gates(field, value, config);
  if (field == "reservedMemory") return read_reserved_memory(field, value, config);
  if (field == "pinfold") return read_pinfold_settings(field, value, config);
  if (field == "apiVersion") return expect_text(field, value, kApiVersion);
  if (field == "kind") return expect_text(field, value, kKind);
  return {};
}

bool is_known_field(std::string_view field) {
  constexpr std::array<std::string_view, 7> kSingleFields = {
      "evictionHard", "cpuCFSQuota", "featureGates", "reservedMemory",
      "pinfold",      "apiVersion",  "kind"};
  const auto& other = kOtherKubeletFields;
  return names(kTexts, field) || names(kMaps, field) ||
         std::find(kSingleFields.begin(), kSingleFields.end(), field) != kSingleFields.end() ||
         std::find(other.begin(), other.end(), field) != other.end();
}

}  // namespace

std::string_view to_string(Partition partition) {
  switch (partition) {
    case Partition::kNone:
      return "none";
    case Partition::kRoot:
      return "root";
    case Partition::kIsolated:
      break;
  }
  return "isolated";
}

Result<Partition> parse_partition(std::string_view text) {
  for (const Partition partition : {Partition::kNone, Partition::kRoot, Partition::kIsolated}) {
    if (text == to_string(partition)) return partition;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected 'none', 'root' or 'isolated'", printable(text)));
}

FeatureGates Config::gates() const {
  FeatureGates gates;
  for (const auto& [name, target] : kGates) {
    const auto set = feature_gates.find(std::string(name));
    if (set != feature_gates.end()) gates.*target = set->second;
  }
  return gates;
}

Result<ParsedConfig> config_from_json(const json& document) {
  if (!document.is_object()) return fail_field("configuration", document, "expected an object");
  ParsedConfig parsed;
  for (const auto& [field, value] : document.items()) {
    if (!is_known_field(field)) {
      parsed.warnings.push_back(fmt::format("unknown field '{}'", printable(field)));
    }
    if (value.is_null()) continue;
    PINFOLD_TRY(read_field(field, value, parsed.config));
  }
  if (const json* merge = member(document, "mergeDefaultEvictionSettings")) {
    PINFOLD_LET(const auto on, read_bool("mergeDefaultEvictionSettings", *merge));
    if (auto& hard = parsed.config.eviction_hard; on && hard) {
      hard->emplace("memory.available", "100Mi");
    }
  }
  return parsed;
}

Result<ParsedConfig> parse_config(std::string_view yaml_or_json) {
  PINFOLD_LET(const auto document, parse_document(yaml_or_json));
  return config_from_json(document);
}

json to_json(const Config& config) {
  json out = {{"apiVersion", kApiVersion}, {"kind", kKind}};
  for (const auto& [name, text] : kTexts) out[std::string(name)] = config.*text;
  for (const auto& [name, map] : kMaps) out[std::string(name)] = config.*map;
  out["cpuCFSQuota"] = config.cpu_cfs_quota;
  out["featureGates"] = config.feature_gates;
  if (config.eviction_hard) out["evictionHard"] = *config.eviction_hard;
  out["reservedMemory"] = json::array();
  for (const MemoryReservation& reservation : config.reserved_memory) {
    out["reservedMemory"].push_back(
        {{"numaNode", reservation.numa_node}, {"limits", reservation.limits}});
  }
  out["pinfold"] = {{"profile", to_string(config.profile)},
                    {"partition", to_string(config.partition)}};
  return out;
}

}  // namespace pinfold
