#include "node_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "eviction.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/topology_policy.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/text/go_duration.hpp"
#include "pinfold/text/go_text.hpp"

namespace pinfold {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

// Formats problems like Kubernetes' aggregate of errors: each text once, several in brackets.
std::string aggregate_text(const std::vector<std::string>& problems) {
  std::vector<std::string> unique;
  for (const std::string& problem : problems) {
    if (std::find(unique.begin(), unique.end(), problem) == unique.end()) unique.push_back(problem);
  }
  return unique.size() == 1 ? unique.front() : fmt::format("[{}]", fmt::join(unique, ", "));
}

/// Only a kubelet rejects unknown names, and OpenShift's kubelet knows more. With `fixed` a locked
/// gate matters only if a decision would depend on it.
void check_gate_names(const Config& config, std::vector<std::string>& problems) {
  const bool is_judged = config.profile != Profile::kFixed && !has_openshift_gates(config);
  const auto unknown = is_judged ? unknown_gates(config) : std::vector<std::string>();
  for (const auto& [name, enabled] : config.feature_gates) {
    const bool is_known = !std::binary_search(unknown.begin(), unknown.end(), name);
    if (!is_known) problems.push_back("unrecognized feature gate: " + name);
    if ((is_judged || is_gate_of_options(name)) &&
        is_locked_against(name, enabled, config.profile)) {
      problems.push_back(fmt::format("cannot set feature gate {} to {}, feature is locked to {}",
                                     name, enabled, !enabled));
    }
  }
}

void check_gate_dependencies(const FeatureGates& gates, std::vector<std::string>& problems) {
  if (gates.pod_level_resources) return;
  const std::array<std::pair<std::string_view, bool>, 2> dependents = {{
      {"InPlacePodLevelResourcesVerticalScaling",
       gates.in_place_pod_level_resources_vertical_scaling},
      {"PodLevelResourceManagers", gates.pod_level_resource_managers},
  }};
  for (const auto& [name, enabled] : dependents) {
    if (!enabled) continue;
    problems.push_back(fmt::format(
        "{} is enabled, but depends on features that are disabled: [PodLevelResources]", name));
  }
}

Result<void> check_feature_gates(const Config& config) {
  std::vector<std::string> problems;
  check_gate_names(config, problems);
  if (problems.empty()) check_gate_dependencies(config.gates(), problems);
  if (problems.empty()) return {};
  return invalid(
      "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: " +
      aggregate_text(problems));
}

void check_cfs_period(const Config& config, std::int64_t period,
                      std::vector<std::string>& problems) {
  const std::string where = fmt::format("cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{}}}",
                                        go::duration_to_string(period));
  if (!config.gates().custom_cpu_cfs_quota_period) {
    if (period != 100 * kMillisecond) {
      problems.push_back(where + " requires feature gate CustomCPUCFSQuotaPeriod");
    }
  } else if (period < kMillisecond || period > 1000 * kMillisecond) {
    problems.push_back(where + " must be between 1ms and 1sec, inclusive");
  }
}

void check_system_cgroups(const Config& config, std::vector<std::string>& problems) {
  if (config.system_cgroups.empty() || !config.cgroup_root.empty()) return;
  problems.emplace_back(
      "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not "
      "specified");
}

void check_image_gc(const Config& config, std::vector<std::string>& problems) {
  const std::int32_t high = config.image_gc_high_threshold;
  const std::int32_t low = config.image_gc_low_threshold;
  const auto check = [&](std::int32_t percent, std::string_view name) {
    if (percent >= 0 && percent <= 100) return;
    problems.push_back(fmt::format("{} {} must be between 0 and 100, inclusive", name, percent));
  };
  constexpr std::string_view kHigh = "imageGCHighThresholdPercent (--image-gc-high-threshold)";
  constexpr std::string_view kLow = "imageGCLowThresholdPercent (--image-gc-low-threshold)";
  check(high, kHigh);
  check(low, kLow);
  if (low < high) return;
  problems.push_back(fmt::format("{} {} must be less than {} {}", kLow, low, kHigh, high));
}

/// The gate NodeSwap is locked on in all known kubelets.
void check_swap(const Config& config, std::vector<std::string>& problems) {
  const std::string& behavior = config.swap_behavior;
  if (behavior.empty() || behavior == "NoSwap" || behavior == "LimitedSwap") return;
  problems.push_back(
      fmt::format(R"(memorySwap.swapBehavior {} must be one of: "", "LimitedSwap" or "NoSwap")",
                  go::quote(behavior)));
}

void check_pod_limits(const Config& config, std::vector<std::string>& problems) {
  const auto check = [&](std::int64_t limit, std::string_view name) {
    if (limit >= 0) return;
    problems.push_back(fmt::format("{} {} must not be a negative number", name, limit));
  };
  check(config.max_pods.value_or(0), "maxPods (--max-pods)");
  check(config.pods_per_core, "podsPerCore (--pods-per-core)");
}

void check_topology_names(const Config& config, std::vector<std::string>& problems) {
  const std::string& policy = config.topology_manager_policy;
  if (!parse_topology_policy(policy)) {
    std::vector<std::string> names;
    names.reserve(kTopologyPolicyNames.size());
    for (const std::string_view name : kTopologyPolicyNames) names.push_back(go::quote(name));
    problems.push_back(
        fmt::format("topologyManagerPolicy (--topology-manager-policy) {} must be one of: [{}]",
                    go::quote(policy), fmt::join(names, " ")));
  }
  const std::string& scope = config.topology_manager_scope;
  if (!parse_topology_scope(scope)) {
    problems.push_back(
        fmt::format("topologyManagerScope (--topology-manager-scope) {} must be one "
                    R"(of: "container", or "pod")",
                    go::quote(scope)));
  }
}

constexpr std::string_view kEnforceFlag = "enforceNodeAllocatable (--enforce-node-allocatable)";

/// Checks a value of enforceNodeAllocatable; duplicates are reported elsewhere.
void check_enforcement(const Config& config, const std::string& value,
                       std::vector<std::string>& problems) {
  const auto check_group = [&](std::string_view who, const std::string& group) {
    if (!group.empty()) return;
    problems.push_back(fmt::format(
        R"({0}ReservedCgroup (--{0}-reserved-cgroup) must be specified when "{0}-reserved" or )"
        R"("{0}-reserved-compressible" included in {1})",
        who, kEnforceFlag));
  };
  if (value == "system-reserved" || value == "system-reserved-compressible") {
    check_group("system", config.system_reserved_cgroup);
  } else if (value == "kube-reserved" || value == "kube-reserved-compressible") {
    check_group("kube", config.kube_reserved_cgroup);
  } else if (value == "none") {
    if (config.enforce_node_allocatable.size() > 1) {
      problems.push_back(fmt::format(
          R"({} may not contain additional enforcements when "none" is specified)", kEnforceFlag));
    }
    return;
  } else if (value != "pods") {
    problems.push_back(
        fmt::format(R"(option {} specified for {}. Valid options are "pods", "system-reserved", )"
                    R"("system-reserved-compressible", "kube-reserved", )"
                    R"("kube-reserved-compressible" or "none")",
                    go::quote(value), kEnforceFlag));
    return;
  }
  if (config.cgroups_per_qos) return;
  problems.push_back(
      fmt::format("cgroupsPerQOS (--cgroups-per-qos) must be set to true when {} contained in {}",
                  go::quote(value), kEnforceFlag));
}

/// Source: kubelet v1.36 pkg/kubelet/apis/config/validation, ValidateKubeletConfiguration.
void check_enforcements(const Config& config, std::vector<std::string>& problems) {
  const auto& values = config.enforce_node_allocatable;
  const auto has = [&](const std::string& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  for (const std::string who : {"system-reserved", "kube-reserved"}) {
    if (!has(who) || !has(who + "-compressible")) continue;
    problems.push_back(
        fmt::format(R"(both "{0}" and "{0}-compressible" cannot be specified together in {1})", who,
                    kEnforceFlag));
  }
  std::set<std::string> seen;
  for (const std::string& value : values) {
    if (seen.insert(value).second) {
      check_enforcement(config, value, problems);
    } else {
      problems.push_back(
          fmt::format("duplicated enforcements {} in {}", go::quote(value), kEnforceFlag));
    }
  }
}

/// Returns the CPUs of reservedSystemCPUs.
CpuSet check_reserved_cpus(const Config& config, std::vector<std::string>& problems) {
  if (config.reserved_system_cpus.empty()) return {};
  if (!config.system_reserved_cgroup.empty() || !config.kube_reserved_cgroup.empty()) {
    problems.emplace_back(
        "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup "
        "(--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)");
  }
  auto parsed = CpuSet::parse(config.reserved_system_cpus);
  if (parsed) return *std::move(parsed);
  problems.push_back(
      fmt::format("unable to parse reservedSystemCPUs (--reserved-cpus) {}, error: {}",
                  config.reserved_system_cpus, parsed.error().message));
  return {};
}

void check_reserved_memory(const Config& config, std::vector<std::string>& problems) {
  std::set<std::pair<std::int32_t, std::string>> seen;
  for (const MemoryReservation& reservation : config.reserved_memory) {
    for (const auto& [resource, amount] : reservation.limits) {
      const std::string where =
          fmt::format("NUMA node {} and resource {}", reservation.numa_node, go::quote(resource));
      if (!is_memory_resource(resource)) {
        problems.push_back(
            fmt::format("the limit type {} for NUMA node {} is not supported, only "
                        "[memory hugepages-<HugePageSize>] is accepted",
                        go::quote(resource), reservation.numa_node));
      }
      if (!seen.emplace(reservation.numa_node, resource).second) {
        problems.push_back("the reserved memory has a duplicate value for " + where);
      }
      if (const auto quantity = Quantity::parse(amount); quantity && quantity->is_zero()) {
        problems.push_back("reserved memory may not be zero for " + where);
      }
    }
  }
}

void check_memory_qos(const Config& config, std::vector<std::string>& problems) {
  constexpr const char* kTiered = "TieredReservation";
  if (const auto& factor = config.memory_throttling_factor;
      factor && (*factor <= 0 || *factor > 1)) {
    problems.push_back(fmt::format(
        "memoryThrottlingFactor {} must be greater than 0 and less than or equal to 1.0", *factor));
  }
  const std::string& policy = config.memory_reservation_policy;
  const bool is_beta = config.profile != Profile::kKubelet136;
  const bool is_on = config.set_gate("MemoryQoS", is_beta).value_or(is_beta);
  if (policy == kTiered && !is_on) {
    problems.push_back(
        fmt::format("memoryReservationPolicy {} requires MemoryQoS feature gate to be enabled",
                    go::quote(policy)));
  }
  if (!policy.empty() && policy != "None" && policy != kTiered) {
    problems.push_back(
        fmt::format("option {} specified for memoryReservationPolicy. Valid options "
                    "are \"None\" or \"{}\"",
                    go::quote(policy), kTiered));
  }
}

Result<void> aggregate(std::vector<std::string> problems) {
  if (problems.empty()) return {};
  for (std::string& problem : problems) problem.insert(0, "invalid configuration: ");
  return invalid(aggregate_text(problems));
}

Result<ResourceList> parse_reserved(std::string_view flag,
                                    const std::map<std::string, std::string>& written) {
  ResourceList out;
  for (const auto& [name, text] : written) {
    const std::string failed = fmt::format("{} value failed to parse: ", flag);
    if (name != "cpu" && name != "memory" && name != "ephemeral-storage" && name != "pid") {
      return invalid(fmt::format("{}cannot reserve {} resource", failed, go::quote(name)));
    }
    const auto quantity = Quantity::parse(text);
    if (!quantity) {
      return invalid(fmt::format("{}failed to parse quantity {} for {} resource: {}", failed,
                                 go::quote(text), go::quote(name), quantity.error().message));
    }
    if (quantity->sign() < 0) {
      return invalid(fmt::format("{}resource quantity for {} cannot be negative: {}", failed,
                                 go::quote(name), text));
    }
    out.emplace(name, *quantity);
  }
  return out;
}

Result<NodeReservation> reserve(const Machine& machine, const Config& config,
                                const CpuSet& explicit_cpus) {
  NodeReservation out;
  out.cpus = explicit_cpus;
  auto kube_config = config.kube_reserved;
  auto system_config = config.system_reserved;
  if (!explicit_cpus.empty()) {
    if (!machine.all_cpus().contains_all(explicit_cpus)) {
      return invalid(fmt::format("reserved-cpus: {} is not a subset of online-cpus: {}",
                                 config.reserved_system_cpus, machine.all_cpus().to_string()));
    }
    kube_config.erase("cpu");
    system_config["cpu"] = std::to_string(explicit_cpus.size());
  }
  PINFOLD_LET(auto kube, parse_reserved("--kube-reserved", kube_config));
  PINFOLD_LET(auto system, parse_reserved("--system-reserved", system_config));
  PINFOLD_LET(auto eviction, hard_memory_threshold(machine, config));
  for (const auto& [name, quantity] : system) out.amounts[name] += quantity;
  for (const auto& [name, quantity] : kube) out.amounts[name] += quantity;
  if (eviction) out.amounts["memory"] += *eviction;
  // A reservation of zero is removed, because the managers distinguish it from a missing one.
  std::erase_if(out.amounts, [](const auto& entry) { return entry.second.is_zero(); });
  return out;
}

}  // namespace

Result<CheckedConfig> check_config(const Machine& machine, const Config& config) {
  PINFOLD_LET(const auto period, go::parse_duration(config.cpu_cfs_quota_period));
  PINFOLD_TRY(check_feature_gates(config));

  std::vector<std::string> problems;
  check_system_cgroups(config, problems);
  check_cfs_period(config, period, problems);
  check_image_gc(config, problems);
  check_pod_limits(config, problems);
  check_topology_names(config, problems);
  check_swap(config, problems);
  check_enforcements(config, problems);
  const CpuSet explicit_cpus = check_reserved_cpus(config, problems);
  check_reserved_memory(config, problems);
  check_memory_qos(config, problems);
  PINFOLD_TRY(aggregate(std::move(problems)));

  PINFOLD_LET(auto reservation, reserve(machine, config, explicit_cpus));
  return CheckedConfig{std::move(reservation), static_cast<std::uint64_t>(period / 1000)};
}

}  // namespace pinfold
