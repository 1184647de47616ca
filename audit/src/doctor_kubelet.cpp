#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor_parts.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/decide/start_advice.hpp"
#include "pinfold/types/named.hpp"
#include "pinfold/types/quantity.hpp"
#include "settings_places.hpp"

namespace pinfold::audit {
namespace {

using OptionalConfig = std::optional<Config>;

/// Returns the configurations that apply: the kubelet's and Pinfold's own, with names for messages.
std::vector<std::pair<const char*, const Config*>> configs_of(const ObservedSystem& system) {
  std::vector<std::pair<const char*, const Config*>> configs;
  if (system.kubelet.config) configs.emplace_back("the kubelet", &*system.kubelet.config);
  if (system.service.config) configs.emplace_back("Pinfold", &*system.service.config);
  return configs;
}

/// Returns how an administrator changes settings of the kubelet in these places (see
/// settings_places) and makes it read them.
std::string edit_kubelet(const ObservedKubelet& kubelet, const std::vector<std::string>& places) {
  std::vector<std::string> edits;
  bool is_of_unit = false;
  for (const std::string& place : places) {
    is_of_unit = is_of_unit || place.empty();
    edits.push_back(place.empty()
                        ? fmt::format("the flags that 'systemctl cat {}' shows", kubelet.unit)
                        : fmt::format("'{}'", place));
  }
  return fmt::format("edit {}, then: {}systemctl restart {}", fmt::join(edits, " and "),
                     is_of_unit ? "systemctl daemon-reload; " : "", kubelet.unit);
}

std::string edit(const ObservedSystem& system, const OptionalConfig& config,
                 const std::vector<AdviceStep>& steps) {
  const bool is_kubelet = &config == &system.kubelet.config;
  return is_kubelet ? edit_kubelet(system.kubelet, settings_places(system.kubelet, steps))
                    : fmt::format("edit '{}/config.yaml', then: systemctl reload pinfold",
                                  system.service.state_dir);
}

/// An error of the start.
struct RefusedProfiles {
  std::vector<std::string_view> profiles;  ///< in which it occurs
  std::vector<AdviceStep> steps;           ///< that correct it
};
using StartErrors = std::map<std::string, RefusedProfiles>;

StartErrors start_errors(const Machine& machine, const Config& config,
                         const std::vector<Profile>& profiles) {
  StartErrors errors;
  for (const Profile profile : profiles) {
    Config tried = config;
    tried.profile = profile;
    tried = with_judged_gates(std::move(tried));
    const auto node = Node::make(machine, tried);
    const auto checked = node ? node->check_node_allocatable()
                              : tl::expected<void, StartError>(tl::unexpected(node.error()));
    if (checked) continue;
    const auto advice = advise_start(machine, tried, checked.error());
    RefusedProfiles& refusal = errors[fmt::format("{}: {}", to_string(checked.error().stage),
                                                  describe(checked.error(), advice))];
    refusal.profiles.push_back(to_string(profile));
    if (advice) refusal.steps = advice->steps;
  }
  return errors;
}

void check_start(const ObservedSystem& system, const OptionalConfig& config, const char* name,
                 const std::vector<Profile>& profiles, Checks& checks) {
  if (!config || !system.machine) return;
  const StartErrors errors = start_errors(*system.machine, *config, profiles);
  std::size_t refusing = 0;
  for (const auto& [error, refusal] : errors) refusing += refusal.profiles.size();
  for (const auto& [error, refusal] : errors) {
    checks.push_back(
        {name, refusing == profiles.size() ? CheckStatus::kProblem : CheckStatus::kWarning,
         fmt::format("{} ({})", error, fmt::join(refusal.profiles, ", ")),
         fmt::format("a configuration that fits {} and {} NUMA node{}",
                     cpus_named(system.machine->all_cpus()), system.machine->numa_count(),
                     system.machine->numa_count() == 1 ? "" : "s"),
         edit(system, config, refusal.steps)});
  }
  if (!errors.empty()) return;
  checks.push_back({name, CheckStatus::kOk,
                    fmt::format("CPU manager {}, memory manager {}, topology manager {}",
                                config->cpu_manager_policy, config->memory_manager_policy,
                                config->topology_manager_policy)});
}

/// Checks for unknown settings in the kubelet's configuration, and for settings without effect.
void check_config_warnings(const ObservedKubelet& kubelet, Checks& checks) {
  const auto add = [&](const std::string& warning, const std::vector<std::string>& places) {
    checks.push_back({"kubelet-config-warning", CheckStatus::kWarning, warning,
                      "only settings that the kubelet knows and that have an effect",
                      edit_kubelet(kubelet, places)});
  };
  for (const auto& [warning, file] : kubelet.config_warnings) {
    add(warning, {place_of(kubelet, file)});
  }
  for (const std::string& warning : settings_without_effect(*kubelet.config)) {
    add(warning, settings_places(kubelet, {}));
  }
}

void check_kubelet_config(const ObservedSystem& system, Checks& checks) {
  const ObservedKubelet& kubelet = system.kubelet;
  if (kubelet.config) {
    // The running version is unknown without asking the kubelet, so all known versions are tried.
    std::vector<Profile> profiles(kProfiles.begin(), kProfiles.end());
    std::erase(profiles, Profile::kFixed);
    check_start(system, kubelet.config, "kubelet-config", profiles, checks);
    check_config_warnings(kubelet, checks);
  } else if (!kubelet.pid && !system.has_kubelet_config) {
    checks.push_back({"kubelet-config", CheckStatus::kOk,
                      "no kubelet found: neither a process nor the usual files"});
  } else {
    checks.push_back({"kubelet-config", CheckStatus::kProblem, kubelet.config_error,
                      "a KubeletConfiguration",
                      edit_kubelet(kubelet, {place_of(kubelet, kubelet.config_error_file)})});
  }
}

/// Checks full-pcpus-only, which allocates whole cores and has no meaning without SMT.
void check_smt(const ObservedSystem& system, Checks& checks) {
  if (!system.machine) return;
  const int threads = system.machine->cpus_per_core();
  const std::string observed = fmt::format(
      "{} CPU{} for each core{}", threads, threads == 1 ? "" : "s",
      system.kernel.smt_control ? fmt::format(", control is '{}'", *system.kernel.smt_control)
                                : "");
  for (const auto& [who, config] : configs_of(system)) {
    const auto& options = config->cpu_manager_policy_options;
    const auto found = options.find("full-pcpus-only");
    if (threads > 1 || found == options.end() || found->second != "true") continue;
    checks.push_back({"smt", CheckStatus::kWarning,
                      fmt::format("{}: full-pcpus-only of {} has no effect", observed, who),
                      "more than one CPU for each core, or full-pcpus-only false",
                      system.kernel.smt_control == "off"
                          ? "echo on > /sys/devices/system/cpu/smt/control"
                          : "remove 'full-pcpus-only' from cpuManagerPolicyOptions"});
    return;
  }
  checks.push_back({"smt", CheckStatus::kOk, observed});
}

/// Returns 2048 for "hugepages-2Mi"; 0 if the name has no size.
std::uint64_t page_kilobytes(const std::string& resource) {
  const auto size = Quantity::parse(resource.substr(resource.find('-') + 1));
  return size && size->value() > 0 ? static_cast<std::uint64_t>(size->value()) / 1024 : 0;
}

void check_reserved_pages(const Machine& machine, const char* who,
                          const MemoryReservation& reserved, Checks& checks) {
  for (const auto& [resource, text] : reserved.limits) {
    const auto amount = Quantity::parse(text);
    if (!is_huge_page_resource(resource) || !amount || amount->value() <= 0) continue;
    const auto needed = static_cast<std::uint64_t>(amount->value());
    const auto position = machine.numa_position(NumaId{reserved.numa_node});
    if (!position) continue;  // the start reports it
    const auto& pages = machine.numa_nodes()[static_cast<std::size_t>(*position)].hugepages;
    const auto found = pages.find(resource);
    const std::uint64_t configured = found == pages.end() ? 0 : found->second;
    if (configured >= needed) continue;
    const std::uint64_t kilobytes = page_kilobytes(resource);
    if (kilobytes == 0) continue;
    checks.push_back(
        {"huge-pages", CheckStatus::kProblem,
         fmt::format("NUMA node {} has {} bytes of {}", reserved.numa_node, configured, resource),
         fmt::format("the {} in reservedMemory of {}", text, who),
         fmt::format("echo {} > /sys/devices/system/node/node{}/hugepages/hugepages-{}kB/"
                     "nr_hugepages",
                     (needed / 1024 + kilobytes - 1) / kilobytes, reserved.numa_node, kilobytes)});
  }
}

void check_hugepages(const ObservedSystem& system, Checks& checks) {
  if (!system.machine) return;
  const std::size_t before = checks.size();
  for (const auto& [who, config] : configs_of(system)) {
    for (const MemoryReservation& reserved : config->reserved_memory) {
      check_reserved_pages(*system.machine, who, reserved, checks);
    }
  }
  if (checks.size() > before) return;
  std::vector<std::string> found;
  for (const NumaNode& node : system.machine->numa_nodes()) {
    for (const auto& [resource, bytes] : node.hugepages) {
      if (bytes == 0) continue;
      found.push_back(fmt::format("NUMA node {}: {} of {}", node.id.value,
                                  Quantity::bytes(static_cast<std::int64_t>(bytes)).to_string(),
                                  resource));
    }
  }
  checks.push_back({"huge-pages", CheckStatus::kOk,
                    found.empty() ? "none configured, and none reserved"
                                  : fmt::format("{}", fmt::join(found, "; "))});
}

/// Checks that two programs do not pin the same containers.
void check_two_managers(const ObservedSystem& system, Checks& checks) {
  const auto& config = system.kubelet.config;
  const bool is_static = config && (config->cpu_manager_policy == "static" ||
                                    config->memory_manager_policy == "Static");
  if (!is_static || !system.service.has_nri) {
    checks.push_back({"two-managers", CheckStatus::kOk,
                      is_static                ? "the kubelet pins its pods"
                      : system.service.has_nri ? "the service pins the runtime's pods"
                                               : "nothing else pins pods"});
    return;
  }
  checks.push_back(
      {"two-managers", CheckStatus::kProblem,
       fmt::format("the kubelet has cpuManagerPolicy {} and memoryManagerPolicy {}, and "
                   "the service pins the same pods through NRI",
                   config->cpu_manager_policy, config->memory_manager_policy),
       "cpuManagerPolicy none and memoryManagerPolicy None for the kubelet, or no "
       "'nri' in '/etc/pinfold/agent.yaml'",
       edit(system, config, {})});
}

}  // namespace

CpuSet reserved_cpus(const ObservedSystem& system) {
  for (const auto& [who, config] : configs_of(system)) {
    const auto cpus = CpuSet::parse(config->reserved_system_cpus);
    if (cpus && !cpus->empty()) return *cpus;
  }
  return {};
}

CpuSet exclusive_candidates(const ObservedSystem& system) {
  const CpuSet all = system.machine ? system.machine->all_cpus() : system.cpusets.all_cpus;
  return all - reserved_cpus(system);
}

bool has_exclusive_cpus(const ObservedSystem& system) {
  const auto configs = configs_of(system);
  return std::any_of(configs.begin(), configs.end(),
                     [](const auto& one) { return one.second->cpu_manager_policy == "static"; });
}

void check_kubelet(const ObservedSystem& system, Checks& checks) {
  check_kubelet_config(system, checks);
  if (system.service.config) {
    check_start(system, system.service.config, "config", {system.service.config->profile}, checks);
  }
  check_smt(system, checks);
  check_hugepages(system, checks);
  check_two_managers(system, checks);
}

}  // namespace pinfold::audit
