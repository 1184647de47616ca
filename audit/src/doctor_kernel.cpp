#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor_parts.hpp"
#include "pinfold/audit/boot_parameters.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/discover/kernel_files.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

std::vector<std::string> values_of(const ObservedKernel& kernel, std::string_view name) {
  return kernel.command_line ? boot_values(*kernel.command_line, name) : std::vector<std::string>();
}

/// Parses a list of CPUs as the kernel prints it; "  (null)", with as many spaces as the CPUs need,
/// is an empty list.
std::optional<CpuSet> shown_cpus(const std::optional<std::string>& list) {
  if (!list) return std::nullopt;
  if (list->empty() || list->ends_with("(null)")) return CpuSet{};
  auto cpus = parse_cpu_list(*list);
  if (!cpus) return std::nullopt;
  return *std::move(cpus);
}

/// A parameter with CPUs. A file of the kernel shows how it read them.
struct CpuParameter {
  const char* name;
  std::optional<std::string> ObservedKernel::*shown;
  /// True if nothing else influences the file; otherwise the file counts only if the parameter is
  /// set.
  bool is_shown_by_itself;
};
constexpr CpuParameter kIsolcpus{"isolcpus", &ObservedKernel::isolated, false};
constexpr CpuParameter kNohzFull{"nohz_full", &ObservedKernel::nohz_full, true};

/// Returns whether reserved CPUs are among the CPUs of a parameter, and if so reports them.
bool has_reserved(const ObservedSystem& system, const char* name, const std::string& observed,
                  const CpuSet& cpus, Checks& checks) {
  const CpuSet reserved = reserved_cpus(system);
  const CpuSet both = cpus & reserved;
  if (both.empty()) return false;
  checks.push_back(
      {name, CheckStatus::kWarning, fmt::format("{} has reserved {}", observed, cpus_named(both)),
       fmt::format("none of the reserved {}, where the system runs", cpus_named(reserved)),
       fmt::format("remove {} from '{}=' on the kernel's command line, and reboot",
                   cpus_named(both), name)});
  return true;
}

void check_cpus(const ObservedSystem& system, const char* name, const CpuSet& cpus,
                Checks& checks) {
  const std::string observed = fmt::format("{}={}", name, cpus.to_string());
  if (has_reserved(system, name, observed, cpus, checks)) return;
  if (std::string_view(name) == "isolcpus" && has_exclusive_cpus(system)) {
    checks.push_back({name, CheckStatus::kWarning,
                      fmt::format("{}: the kernel does not balance load there, not even for "
                                  "containers in the shared pool",
                                  observed),
                      "no isolcpus; Pinfold's partition 'isolated' isolates exclusive CPUs only",
                      "remove 'isolcpus=' from the kernel's command line, and reboot"});
    return;
  }
  checks.push_back({name, CheckStatus::kOk, observed});
}

/// Checks a parameter whose CPUs the kernel does not show.
void check_ignored(const CpuParameter& parameter, const std::vector<std::string>& values,
                   Checks& checks) {
  if (values.empty()) {
    checks.push_back({parameter.name, CheckStatus::kOk, "none"});
    return;
  }
  checks.push_back({parameter.name, CheckStatus::kWarning,
                    fmt::format("'{}={}' has no effect: the kernel takes no CPUs from it",
                                parameter.name, values.front()),
                    "a value that this kernel accepts: a list of CPUs such as '2-7', for isolcpus "
                    "after the flags domain, managed_irq and nohz",
                    "dmesg | grep -iE 'isolcpus|nohz|housekeeping'  # says why"});
}

/// Checks a parameter whose CPUs the kernel shows. `listed`: those on its command line, for a copy
/// of a machine without the kernel's file.
void check_parameter(const ObservedSystem& system, const CpuParameter& parameter,
                     const std::optional<CpuSet>& listed, Checks& checks) {
  const ObservedKernel& kernel = system.kernel;
  const auto values = values_of(kernel, parameter.name);
  const auto& shown = kernel.*parameter.shown;
  const auto cpus = shown ? shown_cpus(shown) : listed;
  const bool is_absent = kernel.command_line && values.empty();
  if (is_absent && (!parameter.is_shown_by_itself || !shown)) {
    checks.push_back({parameter.name, CheckStatus::kOk, "not on the kernel's command line"});
  } else if (!cpus) {
    checks.push_back(
        {parameter.name, CheckStatus::kUnknown,
         values.empty() ? fmt::format("not checked: neither the kernel's command line nor "
                                      "/sys/devices/system/cpu shows '{}'",
                                      parameter.name)
                        : fmt::format("not checked: '{}={}' is on the kernel's command line, and "
                                      "the kernel does not show its CPUs",
                                      parameter.name, values.front()),
         "a list of CPUs such as '2-7' in '/sys/devices/system/cpu'", "cat /proc/cmdline"});
  } else if (cpus->empty()) {
    check_ignored(parameter, values, checks);
  } else {
    check_cpus(system, parameter.name, *cpus, checks);
  }
}

/// The kernel shows only CPUs with the flag domain.
void check_isolcpus(const ObservedSystem& system, Checks& checks) {
  const Isolcpus isolcpus = boot_isolcpus(system);
  const bool is_shown = !shown_cpus(system.kernel.isolated).value_or(CpuSet()).empty();
  if (isolcpus.domain || is_shown || !isolcpus.is_accepted) {
    check_parameter(system, kIsolcpus, isolcpus.domain, checks);
    return;
  }
  const auto values = values_of(system.kernel, kIsolcpus.name);
  const std::string observed = fmt::format("isolcpus={}", values.front());
  const CpuSet managed = isolcpus.managed_irq.value_or(CpuSet());
  if (has_reserved(system, kIsolcpus.name, observed, managed, checks)) return;
  checks.push_back({kIsolcpus.name, CheckStatus::kOk, observed});
}

void check_nohz_full(const ObservedSystem& system, Checks& checks) {
  const auto values = values_of(system.kernel, kNohzFull.name);
  check_parameter(
      system, kNohzFull,
      values.empty() ? std::nullopt : parse_boot_cpus(values.front(), system.kernel.last_cpu),
      checks);
}

/// Checks where interrupts go by default. The kernel adds its boot CPU to the mask, so the mask is
/// used only if the kernel refuses the list.
void check_irq_affinity(const ObservedSystem& system, Checks& checks) {
  constexpr const char* kName = "irqaffinity";
  const auto& command_line = system.kernel.command_line;
  const auto values = values_of(system.kernel, kName);
  if (values.empty()) {
    checks.push_back({kName, command_line ? CheckStatus::kOk : CheckStatus::kUnknown,
                      command_line ? "not on the kernel's command line"
                                   : "not checked: '/proc/cmdline' cannot be read",
                      command_line ? "" : "the kernel's command line"});
    return;
  }
  auto cpus = parse_boot_cpus(values.back(), system.kernel.last_cpu);
  if (!cpus && system.kernel.irq_affinity) cpus = parse_cpu_mask(*system.kernel.irq_affinity);
  const CpuSet reserved = reserved_cpus(system);
  if (!cpus) {
    checks.push_back({kName, CheckStatus::kUnknown,
                      fmt::format("not checked: '{}={}'", kName, values.back()),
                      "a list of CPUs such as '0-1', or a mask in '/proc/irq/default_smp_affinity'",
                      "cat /proc/cmdline /proc/irq/default_smp_affinity"});
  } else if (!reserved.empty() && !cpus->intersects(reserved)) {
    checks.push_back({kName, CheckStatus::kWarning,
                      fmt::format("{}={} has none of the reserved {}: interrupts go to CPUs that "
                                  "containers can have exclusively",
                                  kName, cpus->to_string(), cpus_named(reserved)),
                      fmt::format("{}={}", kName, reserved.to_string()),
                      fmt::format("set '{}={}' on the kernel's command line, and reboot", kName,
                                  reserved.to_string())});
  } else {
    checks.push_back({kName, CheckStatus::kOk, fmt::format("{}={}", kName, cpus->to_string())});
  }
}

CpuSet cpus_or_none(const std::optional<std::string>& list) {
  return list && !list->empty() ? parse_cpu_list(*list).value_or(CpuSet{}) : CpuSet{};
}

void check_offline(const ObservedSystem& system, Checks& checks) {
  const ObservedKernel& kernel = system.kernel;
  const CpuSet offline = cpus_or_none(kernel.offline) & cpus_or_none(kernel.present);
  const std::string smt = kernel.smt_control.value_or("");
  if (offline.empty()) {
    checks.push_back({"offline-cpus", CheckStatus::kOk, "none"});
  } else if (smt == "off" || smt == "forceoff") {
    checks.push_back({"offline-cpus", CheckStatus::kOk,
                      fmt::format("{}, with SMT {}", offline.to_string(), smt)});
  } else {
    std::vector<std::int32_t> ids;
    for (const CpuId cpu : offline) ids.push_back(cpu.value);
    checks.push_back(
        {"offline-cpus", CheckStatus::kWarning, offline.to_string(),
         "all CPUs online, or 'pinfold reconfigure' for the changed machine",
         fmt::format("for cpu in {}; do echo 1 > /sys/devices/system/cpu/cpu$cpu/online; done",
                     fmt::join(ids, " "))});
  }
}

void check_balancing(const ObservedSystem& system, Checks& checks) {
  if (!system.machine || system.machine->numa_count() < 2) return;
  const auto& value = system.kernel.numa_balancing;
  const auto is_static = [](const std::optional<Config>& config) {
    return config && config->memory_manager_policy == "Static";
  };
  const bool is_used = is_static(system.kubelet.config) || is_static(system.service.config);
  if (!value || *value == "0" || !is_used) {
    checks.push_back({"numa-balancing", CheckStatus::kOk,
                      !value          ? "not in this kernel"
                      : *value == "0" ? "off"
                                      : "on, and the memory manager is off"});
    return;
  }
  checks.push_back({"numa-balancing", CheckStatus::kWarning,
                    fmt::format("kernel.numa_balancing is {}: it scans and moves pages of pinned "
                                "containers",
                                *value),
                    "0, because the memory manager places pages",
                    "sysctl -w kernel.numa_balancing=0"});
}

/// Returns the difference between two descriptions of a machine; "": none.
std::string difference(const Machine& kernel, const Machine& hwloc) {
  if (kernel.all_cpus() != hwloc.all_cpus()) {
    return fmt::format("{}, hwloc finds {}", cpus_named(kernel.all_cpus()),
                       hwloc.all_cpus().to_string());
  }
  for (const NumaNode& node : kernel.numa_nodes()) {
    const auto position = hwloc.numa_position(node.id);
    if (!position) return fmt::format("NUMA node {}, which hwloc does not find", node.id.value);
    const auto memory = hwloc.numa_nodes()[static_cast<std::size_t>(*position)].memory;
    if (memory != node.memory) {
      return fmt::format("NUMA node {} with {} bytes, hwloc finds {}", node.id.value, node.memory,
                         memory);
    }
    const CpuSet& cpus = kernel.cpus_of_numa(*kernel.numa_position(node.id));
    const CpuSet& theirs = hwloc.cpus_of_numa(*position);
    if (cpus != theirs) {
      return fmt::format("NUMA node {} with {}, hwloc finds {}", node.id.value, cpus_named(cpus),
                         theirs.to_string());
    }
  }
  if (kernel.numa_count() == hwloc.numa_count()) return "";
  return fmt::format("{} NUMA nodes, hwloc finds {}", kernel.numa_count(), hwloc.numa_count());
}

void check_hwloc(const ObservedSystem& system, Checks& checks) {
  if (!system.machine) return;
  if (!system.hwloc) {
    if (system.hwloc_error.empty()) return;  // another machine, which hwloc does not read
    checks.push_back({"hwloc", CheckStatus::kUnknown, system.hwloc_error,
                      "the machine that /sys describes", "lstopo --no-io"});
    return;
  }
  const std::string differs = difference(*system.machine, *system.hwloc);
  if (differs.empty()) {
    checks.push_back({"hwloc", CheckStatus::kOk, "the same machine as in /sys"});
    return;
  }
  checks.push_back({"hwloc", CheckStatus::kWarning, fmt::format("/sys has {}", differs),
                    "the same machine: decisions use /sys, the positions of devices use hwloc",
                    "unset HWLOC_XMLFILE HWLOC_SYNTHETIC HWLOC_FSROOT; lstopo --no-io"});
}

}  // namespace

void check_machine(const ObservedSystem& system, Checks& checks) {
  if (!system.machine) {
    checks.push_back({"machine", CheckStatus::kProblem, system.machine_error,
                      "CPUs and NUMA nodes in /sys/devices/system", "mount -t sysfs none /sys"});
    return;
  }
  const Machine& machine = *system.machine;
  const auto& warnings = machine.description().warnings;
  const std::string observed =
      fmt::format("{}, {} NUMA node{}", cpus_named(machine.all_cpus()), machine.numa_count(),
                  machine.numa_count() == 1 ? "" : "s");
  if (warnings.empty()) {
    checks.push_back({"machine", CheckStatus::kOk, observed});
  } else {
    checks.push_back({"machine", CheckStatus::kWarning,
                      fmt::format("{}; {}", observed, fmt::join(warnings, "; ")),
                      "files in /sys without contradictions", "pinfold topology"});
  }
  check_hwloc(system, checks);
}

Isolcpus boot_isolcpus(const ObservedSystem& system) {
  return parse_isolcpus(values_of(system.kernel, kIsolcpus.name), system.kernel.last_cpu);
}

void check_kernel(const ObservedSystem& system, Checks& checks) {
  check_features(system, checks);
  check_isolcpus(system, checks);
  check_nohz_full(system, checks);
  check_irq_affinity(system, checks);
  check_offline(system, checks);
  check_balancing(system, checks);
}

}  // namespace pinfold::audit
