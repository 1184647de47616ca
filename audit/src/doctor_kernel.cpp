#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor_parts.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/discover/kernel_files.hpp"

namespace pinfold::audit {
namespace {

/// Returns the values of a kernel parameter, without quotes.
std::vector<std::string> values_of(std::string_view command_line, std::string_view name) {
  std::vector<std::string> values;
  for (const KernelParameter& one : parse_kernel_command_line(command_line)) {
    if (one.name == name) values.push_back(one.value);
  }
  return values;
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

/// A parameter with CPUs. The kernel shows how it parsed them: the words 'N' and 'all', strides and
/// flags are its own syntax.
struct CpuParameter {
  const char* name;
  std::optional<std::string> ObservedKernel::*shown;
  /// True if nothing else influences the file; otherwise it says nothing unless the parameter is
  /// set.
  bool is_shown_by_itself;
};
constexpr CpuParameter kIsolcpus{"isolcpus", &ObservedKernel::isolated, false};
constexpr CpuParameter kNohzFull{"nohz_full", &ObservedKernel::nohz_full, true};

void check_cpus(const ObservedSystem& system, const char* name, const CpuSet& cpus,
                Checks& checks) {
  const CpuSet reserved = reserved_cpus(system);
  const std::string observed = fmt::format("{}={}", name, cpus.to_string());
  if (cpus.intersects(reserved)) {
    checks.push_back(
        {name, CheckStatus::kWarning,
         fmt::format("{} has reserved CPUs {}", observed, (cpus & reserved).to_string()),
         fmt::format("none of the reserved CPUs {}, where the system runs", reserved.to_string()),
         fmt::format("remove CPUs {} from '{}=' on the kernel's command line, and "
                     "reboot",
                     (cpus & reserved).to_string(), name)});
    return;
  }
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

void check_parameter(const ObservedSystem& system, const CpuParameter& parameter, Checks& checks) {
  const ObservedKernel& kernel = system.kernel;
  const auto values = kernel.command_line ? values_of(*kernel.command_line, parameter.name)
                                          : std::vector<std::string>();
  auto cpus = shown_cpus(kernel.*parameter.shown);
  if (!cpus && !(kernel.*parameter.shown) && !values.empty()) {  // a copy without the kernel's file
    const auto plain = parse_cpu_list(values.back());
    if (plain) cpus = *plain;
  }
  const bool is_absent = kernel.command_line && values.empty();
  if (is_absent && (!parameter.is_shown_by_itself || !(kernel.*parameter.shown))) {
    checks.push_back({parameter.name, CheckStatus::kOk, "not on the kernel's command line"});
  } else if (!cpus) {
    checks.push_back(
        {parameter.name, CheckStatus::kUnknown,
         values.empty() ? fmt::format("not checked: neither the kernel's command line nor "
                                      "/sys/devices/system/cpu shows '{}'",
                                      parameter.name)
                        : fmt::format("not checked: '{}={}' is on the kernel's command line, and "
                                      "the kernel does not show its CPUs",
                                      parameter.name, values.back()),
         "a list of CPUs such as '2-7' in '/sys/devices/system/cpu'", "cat /proc/cmdline"});
  } else if (cpus->empty()) {
    checks.push_back({parameter.name, CheckStatus::kOk,
                      values.empty() ? "none"
                                     : fmt::format("'{}={}' names no CPUs that the kernel knows",
                                                   parameter.name, values.back())});
  } else {
    check_cpus(system, parameter.name, *cpus, checks);
  }
}

/// Checks where interrupts go by default. The kernel adds its boot CPU to the mask, so the mask is
/// used only if the list has the kernel's own syntax.
void check_irq_affinity(const ObservedSystem& system, Checks& checks) {
  constexpr const char* kName = "irqaffinity";
  const auto& command_line = system.kernel.command_line;
  const auto values = command_line ? values_of(*command_line, kName) : std::vector<std::string>();
  if (values.empty()) {
    checks.push_back({kName, command_line ? CheckStatus::kOk : CheckStatus::kUnknown,
                      command_line ? "not on the kernel's command line"
                                   : "not checked: '/proc/cmdline' cannot be read",
                      command_line ? "" : "the kernel's command line"});
    return;
  }
  const auto list = parse_cpu_list(values.back());
  const auto cpus = list                         ? std::optional(*list)
                    : system.kernel.irq_affinity ? parse_cpu_mask(*system.kernel.irq_affinity)
                                                 : std::nullopt;
  const CpuSet reserved = reserved_cpus(system);
  if (!cpus) {
    checks.push_back({kName, CheckStatus::kUnknown,
                      fmt::format("not checked: '{}={}'", kName, values.back()),
                      "a list of CPUs such as '0-1', or a mask in '/proc/irq/default_smp_affinity'",
                      "cat /proc/cmdline /proc/irq/default_smp_affinity"});
  } else if (!reserved.empty() && !cpus->intersects(reserved)) {
    checks.push_back(
        {kName, CheckStatus::kWarning,
         fmt::format("{}={} has none of the reserved CPUs {}: interrupts go to CPUs that "
                     "containers can have exclusively",
                     kName, cpus->to_string(), reserved.to_string()),
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
    return fmt::format("CPUs {}, hwloc finds {}", kernel.all_cpus().to_string(),
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
      return fmt::format("NUMA node {} with CPUs {}, hwloc finds {}", node.id.value,
                         cpus.to_string(), theirs.to_string());
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
      fmt::format("CPUs {}, {} NUMA node{}", machine.all_cpus().to_string(), machine.numa_count(),
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

void check_kernel(const ObservedSystem& system, Checks& checks) {
  check_features(system, checks);
  check_parameter(system, kIsolcpus, checks);
  check_parameter(system, kNohzFull, checks);
  check_irq_affinity(system, checks);
  check_offline(system, checks);
  check_balancing(system, checks);
}

}  // namespace pinfold::audit
