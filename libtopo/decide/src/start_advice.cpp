#include "pinfold/decide/start_advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "known_start_errors.hpp"
#include "node_config.hpp"
#include "pinfold/align/topology_manager.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/topology_policy.hpp"
#include "pinfold/cpu/policy_options.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold {
namespace {

constexpr std::array<std::string_view, 2> kCpuPolicies = {"none", "static"};
constexpr std::array<std::string_view, 2> kMemoryPolicies = {"None", "Static"};

using KnownNames = std::span<const std::string_view>;

/// Suggests a known name for an unknown value.
std::optional<StartAdvice> correct(std::string_view field, const std::string& value,
                                   KnownNames known) {
  for (const std::string_view name : known) {
    if (value == name) return std::nullopt;
  }
  const std::string_view meant = nearest(value, known);
  if (meant.empty()) {
    return StartAdvice{
        fmt::format("{} '{}': expected one of {}", field, printable(value), fmt::join(known, ", ")),
        fmt::format("{}: {}", field, known.front())};
  }
  return StartAdvice{fmt::format("{} '{}': did you mean '{}'?", field, printable(value), meant),
                     fmt::format("{}: {}", field, meant)};
}

std::optional<StartAdvice> correct_options(std::string_view field,
                                           const std::map<std::string, std::string>& options,
                                           KnownNames known) {
  for (const auto& [name, value] : options) {
    const std::string_view meant = nearest(name, known);
    auto advice = correct(field, name, known);
    if (!advice || meant.empty()) continue;
    advice->write = fmt::format("{}: {{{}: \"{}\"}}", field, meant, printable(value));
    return advice;
  }
  return std::nullopt;
}

/// Says which profiles know an option of the topology manager that this one does not.
std::optional<StartAdvice> name_profiles(const Config& config) {
  for (const auto& [option, value] : config.topology_manager_policy_options) {
    std::vector<std::string_view> knowing;
    for (const Profile profile : kProfiles) {
      if (knows_topology_option(profile, option)) knowing.push_back(to_string(profile));
    }
    if (knowing.empty() || knows_topology_option(config.profile, option)) continue;
    return StartAdvice{
        fmt::format("topologyManagerPolicyOptions '{}': known with the profile{} {}, "
                    "not with {}",
                    option, knowing.size() == 1 ? "" : "s", fmt::join(knowing, " and "),
                    to_string(config.profile)),
        fmt::format("topologyManagerPolicyOptions without {}", option)};
  }
  return std::nullopt;
}

std::optional<StartAdvice> correct_names(const Config& config) {
  const std::optional<StartAdvice> found[] = {
      correct("cpuManagerPolicy", config.cpu_manager_policy, kCpuPolicies),
      correct("memoryManagerPolicy", config.memory_manager_policy, kMemoryPolicies),
      correct("topologyManagerPolicy", config.topology_manager_policy, kTopologyPolicyNames),
      correct("topologyManagerScope", config.topology_manager_scope, kTopologyScopeNames),
      correct_options("cpuManagerPolicyOptions", config.cpu_manager_policy_options,
                      cpu_policy_option_names()),
      correct_options("topologyManagerPolicyOptions", config.topology_manager_policy_options,
                      kTopologyOptionNames),
      name_profiles(config),
  };
  for (const auto& advice : found) {
    if (advice) return advice;
  }
  return std::nullopt;
}

/// Returns "kubeReserved 893Mi + evictionHard 100Mi (its default)".
std::string reserved_sum(const Config& config, const std::string& resource) {
  std::vector<std::string> terms;
  const auto add = [&](const char* field, const std::map<std::string, std::string>& amounts,
                       const std::string& name) {
    const auto found = amounts.find(name);
    if (found != amounts.end()) terms.push_back(fmt::format("{} {}", field, found->second));
  };
  add("kubeReserved", config.kube_reserved, resource);
  add("systemReserved", config.system_reserved, resource);
  if (resource == "memory" && config.eviction_hard) {
    add("evictionHard", *config.eviction_hard, "memory.available");
  } else if (resource == "memory") {
    terms.emplace_back("evictionHard 100Mi (its default)");
  }
  return fmt::format("{}", fmt::join(terms, " + "));
}

bool has_node(const Machine& machine, std::int32_t id) {
  const auto& nodes = machine.numa_nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const NumaNode& node) { return node.id.value == id; });
}

/// Returns a reservedMemory that adds up: the written one, with the rest on the first NUMA node
/// that has room.
std::string matching_reservation(const Machine& machine, const Config& config,
                                 const Quantity& needed) {
  std::map<std::int32_t, Quantity> by_node;
  Quantity sum;
  for (const MemoryReservation& entry : config.reserved_memory) {
    const auto written = entry.limits.find("memory");
    if (written == entry.limits.end() || !has_node(machine, entry.numa_node)) continue;
    const auto amount = Quantity::parse(written->second);
    if (!amount) continue;
    by_node[entry.numa_node] = *amount;
    sum += *amount;
  }
  if (sum > needed) {
    by_node.clear();
    sum = Quantity{};
  }
  Quantity rest = needed;
  rest -= sum;
  for (const NumaNode& numa : machine.numa_nodes()) {
    if (rest.sign() <= 0) break;
    Quantity& own = by_node[numa.id.value];
    Quantity room = Quantity::bytes(static_cast<std::int64_t>(numa.memory));
    room -= own;
    if (room < rest) continue;
    own = rest + own;
    rest = Quantity{};
  }
  if (rest.sign() > 0) return "";  // no NUMA node has room for it
  std::vector<std::string> entries;
  for (const auto& [node, amount] : by_node) {
    if (amount.is_zero()) continue;
    entries.push_back(
        fmt::format("{{numaNode: {}, limits: {{memory: {}}}}}", node, amount.to_string()));
  }
  return fmt::format("reservedMemory: [{}]", fmt::join(entries, ", "));
}

std::optional<StartAdvice> balance_memory(const Machine& machine, const Config& config) {
  const auto checked = check_config(machine, config);
  if (!checked) return std::nullopt;
  const Quantity needed = amount_of(checked->reservation.amounts, "memory");
  if (needed.is_zero()) {
    return StartAdvice{
        "memoryManagerPolicy Static needs reserved memory: kubeReserved, systemReserved or "
        "evictionHard",
        "evictionHard: {memory.available: 100Mi}"};
  }
  return StartAdvice{fmt::format("the memory in reservedMemory must add up to {}: {}",
                                 needed.to_string(), reserved_sum(config, "memory")),
                     matching_reservation(machine, config, needed)};
}

/// Returns a kind of huge pages that reservedMemory has; "" if it has none.
std::string reserved_huge_pages(const Config& config) {
  for (const MemoryReservation& entry : config.reserved_memory) {
    for (const auto& [name, amount] : entry.limits) {
      if (name.starts_with("hugepages-")) return name;
    }
  }
  return "";
}

/// Names the NUMA nodes on which memory can be reserved.
StartAdvice name_numa_nodes(const Machine& machine, const Config& config) {
  std::vector<std::string> ids;
  for (const NumaNode& numa : machine.numa_nodes()) ids.push_back(std::to_string(numa.id.value));
  const auto checked = check_config(machine, config);
  const Quantity needed = checked ? amount_of(checked->reservation.amounts, "memory") : Quantity{};
  return StartAdvice{fmt::format("reservedMemory: this machine has the NUMA node{} {}",
                                 ids.size() == 1 ? "" : "s", fmt::join(ids, ", ")),
                     matching_reservation(machine, config, needed)};
}

/// Says how much of what the machine has is reserved, where it is too much.
std::optional<StartAdvice> limit_reservation(const Machine& machine, const Config& config) {
  const auto checked = check_config(machine, config);
  if (!checked) return std::nullopt;
  const std::pair<const char*, Quantity> capacities[] = {
      {"cpu", Quantity::of(std::ssize(machine.cpus()), Quantity::Format::kDecimalSi)},
      {"memory", Quantity::bytes(static_cast<std::int64_t>(machine.memory()))}};
  for (const auto& [resource, has] : capacities) {
    const Quantity needed = amount_of(checked->reservation.amounts, resource);
    if (needed <= has) continue;
    return StartAdvice{
        fmt::format("{} of {} is reserved ({}), and this machine has {}", needed.to_string(),
                    resource, reserved_sum(config, resource), has.to_string()),
        fmt::format("amounts that add up to less than {}", has.to_string())};
  }
  return std::nullopt;
}

/// Returns the kernel's list of a core that could be reserved.
std::string first_core(const Machine& machine) {
  return machine.cores().empty() ? "" : machine.cores().front().cpus.to_string();
}

/// Advises on reserved CPUs that this machine does not have.
StartAdvice limit_cpus(const Machine& machine, const Config& config) {
  const auto reserved = CpuSet::parse(config.reserved_system_cpus);
  const CpuSet all = machine.all_cpus();
  const CpuSet left = reserved ? *reserved & all : CpuSet();
  return StartAdvice{fmt::format("reservedSystemCPUs '{}': this machine has CPUs {}",
                                 printable(config.reserved_system_cpus), all.to_string()),
                     fmt::format("reservedSystemCPUs: \"{}\"",
                                 left.empty() ? first_core(machine) : left.to_string())};
}

StartAdvice allow_nodes(const Machine& machine) {
  return StartAdvice{
      fmt::format("this machine has {} NUMA nodes", machine.numa_count()),
      fmt::format("topologyManagerPolicyOptions: {{max-allowable-numa-nodes: \"{}\"}}",
                  machine.numa_count())};
}

bool mentions(const StartError& error, std::string_view text) {
  return error.error.find(text) != std::string::npos;
}

}  // namespace

std::optional<StartAdvice> advise_start(const Machine& machine, const Config& config,
                                        const StartError& error) {
  if (auto advice = correct_names(config)) return advice;
  if (mentions(error, "can't use reservedSystemCPUs")) {
    return StartAdvice{
        "systemReservedCgroup and kubeReservedCgroup work only with CPUs that are reserved by "
        "count",
        "systemReserved: {cpu: ...} instead of reservedSystemCPUs, or no systemReservedCgroup and "
        "kubeReservedCgroup"};
  }
  if (mentions(error, "topology manager policy alpha-level options not enabled")) {
    return StartAdvice{"the option is alpha: its feature gate is off by default",
                       "featureGates: {TopologyManagerPolicyAlphaOptions: true}"};
  }
  if (mentions(error, "CPU Manager Policy Alpha-level Options not enabled")) {
    return StartAdvice{"the option is alpha: its feature gate is off by default",
                       "featureGates: {CPUManagerPolicyAlphaOptions: true}"};
  }
  if (mentions(error, "is not a subset of online-cpus")) return limit_cpus(machine, config);
  if (mentions(error, "unable to parse reservedSystemCPUs")) {
    return StartAdvice{fmt::format("reservedSystemCPUs '{}': expected a list of CPUs and ascending "
                                   "ranges",
                                   printable(config.reserved_system_cpus)),
                       "for example reservedSystemCPUs: \"0-1,4\""};
  }
  if (mentions(error, "has a reservation of") ||
      mentions(error, "unable to reserve the required amount")) {
    return limit_reservation(machine, config);
  }
  if (mentions(error, "unsupported on machines with more than")) return allow_nodes(machine);
  if (mentions(error, "unrecognized feature gate")) {
    return StartAdvice{
        describe_unknown_gates(config),
        fmt::format("featureGates without {}", fmt::join(unknown_gates(config), ", "))};
  }
  if (mentions(error, "None policy: received unsupported options")) {
    return StartAdvice{"cpuManagerPolicyOptions need cpuManagerPolicy static",
                       "cpuManagerPolicy: static, or no cpuManagerPolicyOptions"};
  }
  if (mentions(error, "references a NUMA node")) return name_numa_nodes(machine, config);
  if (const std::string pages = reserved_huge_pages(config);
      !pages.empty() && mentions(error, pages) && mentions(error, "Node Allocatable")) {
    return StartAdvice{fmt::format("reservedMemory has {}, which neither kubeReserved nor "
                                   "systemReserved can reserve",
                                   printable(pages)),
                       fmt::format("reservedMemory without {}", printable(pages))};
  }
  if (mentions(error, "determined by Node Allocatable") ||
      mentions(error, "you should specify the system reserved memory")) {
    return balance_memory(machine, config);
  }
  const bool lacks_cpus = mentions(error, "unable to determine reserved CPU resources");
  if (!lacks_cpus || machine.cores().empty()) {
    const KnownStartError* const known = find_known_start_error(error.error);
    return known == nullptr ? std::nullopt : std::optional(StartAdvice{known->cause, known->write});
  }
  return StartAdvice{
      "cpuManagerPolicy static needs reserved CPUs: reservedSystemCPUs, or a cpu in kubeReserved "
      "or systemReserved",
      fmt::format("reservedSystemCPUs: \"{}\"", first_core(machine))};
}

std::string to_string(const StartAdvice& advice) {
  return advice.write.empty() ? advice.cause
                              : fmt::format("{}; write: {}", advice.cause, advice.write);
}

std::string describe_start_error(const Machine& machine, const Config& config,
                                 const StartError& error) {
  const auto advice = advise_start(machine, config, error);
  return fmt::format("start: {}: {}{}", to_string(error.stage), error.error,
                     advice ? "; " + to_string(*advice) : "");
}

}  // namespace pinfold
