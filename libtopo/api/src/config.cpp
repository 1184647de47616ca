#include "pinfold/api/config.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/text/field.hpp"
#include "pinfold/text/go_duration.hpp"
#include "schema.hpp"

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
    {"DisableCPUQuotaWithExclusiveCPUs", &FeatureGates::disable_cpu_quota_with_exclusive_cpus},
    {"CustomCPUCFSQuotaPeriod", &FeatureGates::custom_cpu_cfs_quota_period},
    {"InPlacePodLevelResourcesVerticalScaling",
     &FeatureGates::in_place_pod_level_resources_vertical_scaling},
    {"InPlacePodVerticalScalingExclusiveCPUs",
     &FeatureGates::in_place_pod_vertical_scaling_exclusive_cpus},
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

/// Fields that are printed only if they differ from the defaults.
constexpr std::array<std::pair<std::string_view, std::string Config::*>, 5> kStartTexts = {{
    {"cgroupRoot", &Config::cgroup_root},
    {"kubeReservedCgroup", &Config::kube_reserved_cgroup},
    {"memoryReservationPolicy", &Config::memory_reservation_policy},
    {"systemCgroups", &Config::system_cgroups},
    {"systemReservedCgroup", &Config::system_reserved_cgroup},
}};
/// Likewise.
constexpr std::array<std::pair<std::string_view, std::int32_t Config::*>, 2> kStartNumbers = {{
    {"imageGCHighThresholdPercent", &Config::image_gc_high_threshold},
    {"imageGCLowThresholdPercent", &Config::image_gc_low_threshold},
}};
constexpr std::array<std::pair<std::string_view, StringMap Config::*>, 4> kStartMaps = {{
    {"evictionMinimumReclaim", &Config::eviction_minimum_reclaim},
    {"evictionSoft", &Config::eviction_soft},
    {"evictionSoftGracePeriod", &Config::eviction_soft_grace_period},
    {"memoryManagerPolicyOptions", &Config::memory_manager_policy_options},
}};

// check_fields has checked the types; null counts as absent everywhere.

StringMap read_map(const json& value) {
  StringMap map;
  for (const auto& [key, entry] : value.items()) {
    if (entry.is_null()) {
      map.emplace(key, "");
    } else {
      map.emplace(key, entry.is_string() ? entry.get<std::string>() : entry.dump());
    }
  }
  return map;
}

std::vector<std::string> read_list(const json& value) {
  std::vector<std::string> list;
  for (const json& item : value) list.push_back(item.is_null() ? "" : item.get<std::string>());
  return list;
}

void read_text(std::string_view field, const json& value, std::string& target) {
  auto text = value.get<std::string>();
  // As in the kubelet, an empty text keeps the default; only an empty period is an error.
  if (!text.empty() || field == "cpuCFSQuotaPeriod") target = std::move(text);
}

Result<void> read_gates(std::string_view field, const json& value, Config& config) {
  for (const auto& [gate, entry] : value.items()) {
    if (!entry.is_boolean()) return fail_field(join(field, gate), entry, "expected true or false");
    config.feature_gates.emplace(gate, entry.get<bool>());
  }
  return {};
}

Result<void> read_memory_swap(std::string_view field, const json& value, Config& config) {
  const json* const behavior = member(value, "swapBehavior");
  if (behavior == nullptr || behavior->is_null()) return {};
  if (!behavior->is_string()) {
    return fail_field(join(field, "swapBehavior"), *behavior, "expected a string");
  }
  config.swap_behavior = behavior->get<std::string>();
  return {};
}

void read_reserved_memory(const json& value, Config& config) {
  for (const json& item : value) {
    MemoryReservation reservation;
    if (const json* node = member(item, "numaNode")) {
      reservation.numa_node = node->get<std::int32_t>();
    }
    if (const json* limits = member(item, "limits")) reservation.limits = read_map(*limits);
    config.reserved_memory.push_back(std::move(reservation));
  }
}

Result<void> read_pinfold_settings(std::string_view field, const json& value, Config& config) {
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

/// Checks the times of a graceful shutdown. Domain: check_fields has checked the types.
/// Source: kubelet v1.36 pkg/kubelet/apis/config/validation, ValidateKubeletConfiguration.
Result<void> check_shutdown(const json& document) {
  constexpr std::string_view kCritical = "shutdownGracePeriodCriticalPods";
  const auto duration_at = [&](std::string_view field) {
    const json* const value = member(document, field);
    return value == nullptr || value->is_null()
               ? std::int64_t{0}
               : go::parse_duration(value->get_ref<const std::string&>()).value();
  };
  const auto whole = duration_at("shutdownGracePeriod");
  const auto critical = duration_at(kCritical);
  if (critical <= whole) return {};
  return fail_field(kCritical, *member(document, kCritical),
                    "expected at most shutdownGracePeriod; a kubelet does not start with it");
}

/// Reads one field that is not null; ignores fields that have no effect.
Result<void> read_field(const std::string& field, const json& value, Config& config) {
  for (const auto& [name, text] : kTexts) {
    if (field == name) read_text(field, value, config.*text);
  }
  for (const auto& [name, map] : kMaps) {
    if (field == name) config.*map = read_map(value);
  }
  for (const auto& [name, text] : kStartTexts) {
    if (field == name) config.*text = value.get<std::string>();
  }
  for (const auto& [name, map] : kStartMaps) {
    if (field == name) config.*map = read_map(value);
  }
  for (const auto& [name, number] : kStartNumbers) {
    if (field == name) config.*number = value.get<std::int32_t>();
  }
  if (field == "cgroupsPerQOS") config.cgroups_per_qos = value.get<bool>();
  if (field == "failCgroupV1") config.fail_cgroup_v1 = value.get<bool>();
  if (field == "enforceNodeAllocatable") config.enforce_node_allocatable = read_list(value);
  if (field == "evictionHard") config.eviction_hard = read_map(value);
  if (field == "cpuCFSQuota") config.cpu_cfs_quota = value.get<bool>();
  if (field == "memoryThrottlingFactor") config.memory_throttling_factor = value.get<double>();
  if (field == "maxPods") config.max_pods = value.get<std::int32_t>();
  if (field == "podsPerCore") config.pods_per_core = value.get<std::int32_t>();
  if (field == "reservedMemory") read_reserved_memory(value, config);
  if (field == "memorySwap") return read_memory_swap(field, value, config);
  if (field == "featureGates") return read_gates(field, value, config);
  if (field == "pinfold") return read_pinfold_settings(field, value, config);
  if (field == "apiVersion") return expect_text(field, value, kApiVersion);
  if (field == "kind") return expect_text(field, value, kKind);
  return {};
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

Quirks Config::quirks() const {
  Quirks quirks = quirks_of(profile);
  if (without_quirk != nullptr) quirks.*without_quirk->member = false;
  return quirks;
}

FeatureGates Config::gates() const {
  FeatureGates gates;
  // QUIRK: without the quirk, empty pod-level resources are the same as none.
  gates.pod_level_resources_fix_kubelet_qos_class = !quirks().empty_pod_resources_set_qos_class;
  for (const auto& [name, target] : kGates) {
    bool& gate = gates.*target;
    gate = set_gate(name, gate).value_or(gate);
  }
  return gates;
}

std::optional<bool> Config::set_gate(std::string_view name, bool is_beta) const {
  for (const std::string& one :
       {std::string(name), std::string(is_beta ? "AllBeta" : "AllAlpha")}) {
    const auto set = feature_gates.find(one);
    if (set != feature_gates.end()) return set->second;
  }
  return std::nullopt;
}

Result<ParsedConfig> config_from_json(const json& document) {
  if (!document.is_object()) return fail_field("configuration", document, "expected an object");
  ParsedConfig parsed;
  PINFOLD_LET(parsed.warnings, check_fields(document, kKubeletFields));
  for (const auto& [field, value] : document.items()) {
    if (value.is_null()) continue;
    PINFOLD_TRY(read_field(field, value, parsed.config));
  }
  PINFOLD_TRY(check_shutdown(document));
  const json* const settings = member(document, "pinfold");
  parsed.names_profile = settings != nullptr && member(*settings, "profile") != nullptr;
  const json* const merge = member(document, "mergeDefaultEvictionSettings");
  if (auto& hard = parsed.config.eviction_hard; merge != nullptr && *merge == true && hard) {
    hard->emplace("memory.available", "100Mi");
  }
  return parsed;
}

json to_json(const Config& config) {
  json out = {{"apiVersion", kApiVersion}, {"kind", kKind}};
  for (const auto& [name, text] : kTexts) out[std::string(name)] = config.*text;
  for (const auto& [name, map] : kMaps) out[std::string(name)] = config.*map;
  out["cpuCFSQuota"] = config.cpu_cfs_quota;
  out["featureGates"] = config.feature_gates;
  if (config.max_pods) out["maxPods"] = *config.max_pods;
  if (config.pods_per_core != 0) out["podsPerCore"] = config.pods_per_core;
  if (config.eviction_hard) out["evictionHard"] = *config.eviction_hard;
  out["reservedMemory"] = json::array();
  for (const MemoryReservation& reservation : config.reserved_memory) {
    out["reservedMemory"].push_back(
        {{"numaNode", reservation.numa_node}, {"limits", reservation.limits}});
  }
  const Config defaults;
  for (const auto& [name, text] : kStartTexts) {
    if (!(config.*text).empty()) out[std::string(name)] = config.*text;
  }
  for (const auto& [name, map] : kStartMaps) {
    if (!(config.*map).empty()) out[std::string(name)] = config.*map;
  }
  if (config.memory_throttling_factor) {
    out["memoryThrottlingFactor"] = *config.memory_throttling_factor;
  }
  for (const auto& [name, number] : kStartNumbers) {
    if (config.*number != defaults.*number) out[std::string(name)] = config.*number;
  }
  if (!config.swap_behavior.empty()) out["memorySwap"] = {{"swapBehavior", config.swap_behavior}};
  if (!config.cgroups_per_qos) out["cgroupsPerQOS"] = false;
  if (config.fail_cgroup_v1) out["failCgroupV1"] = *config.fail_cgroup_v1;
  if (config.enforce_node_allocatable != defaults.enforce_node_allocatable) {
    out["enforceNodeAllocatable"] = config.enforce_node_allocatable;
  }
  out["pinfold"] = {{"profile", to_string(config.profile)},
                    {"partition", to_string(config.partition)}};
  return out;
}

}  // namespace pinfold
