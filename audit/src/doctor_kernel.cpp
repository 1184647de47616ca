#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor_parts.hpp"
#include "pinfold/discover/kernel_files.hpp"

namespace pinfold::audit {
namespace {

/// The CPUs of "isolcpus=domain,managed_irq,2-3", nullopt if it is not in this form.
std::optional<CpuSet> cpus_of_parameter(std::string_view command_line, std::string_view name) {
  CpuSet cpus;
  for (std::string_view rest = command_line; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    if (!word.starts_with(name) || !word.substr(name.size()).starts_with('=')) continue;
    word.remove_prefix(name.size() + 1);
    while (!word.empty() && (word.front() < '0' || word.front() > '9')) {
      word.remove_prefix(std::min(word.size(), std::min(word.find(','), word.size() - 1) + 1));
    }
    const auto parsed = parse_cpu_list(word);
    if (!parsed) return std::nullopt;
    cpus |= *parsed;
  }
  return cpus;
}

void check_parameter(const ObservedSystem& system, const char* name, Checks& checks) {
  const auto cpus = cpus_of_parameter(*system.kernel.command_line, name);
  if (!cpus) {
    checks.push_back({name, Verdict::kUnknown,
                      fmt::format("'{}=' on the kernel's command line", name),
                      "a list of CPUs such as '2-7'", "cat /proc/cmdline"});
    return;
  }
  if (cpus->empty()) {
    checks.push_back({name, Verdict::kOk, "not on the kernel's command line"});
    return;
  }
  const CpuSet reserved = reserved_cpus(system);
  const std::string observed = fmt::format("{}={}", name, cpus->to_string());
  if (cpus->intersects(reserved)) {
    checks.push_back(
        {name, Verdict::kWarning,
         fmt::format("{} has reserved CPUs {}", observed, (*cpus & reserved).to_string()),
         fmt::format("none of the reserved CPUs {}, where the system runs", reserved.to_string()),
         fmt::format("remove CPUs {} from '{}=' on the kernel's command line, and "
                     "reboot",
                     (*cpus & reserved).to_string(), name)});
    return;
  }
  if (std::string_view(name) == "isolcpus" && has_exclusive_cpus(system)) {
    checks.push_back({name, Verdict::kWarning,
                      fmt::format("{}: the kernel balances no load there, also not of containers "
                                  "in the shared pool",
                                  observed),
                      "no isolcpus; Pinfold's partition 'isolated' isolates exclusive CPUs only",
                      "remove 'isolcpus=' from the kernel's command line, and reboot"});
    return;
  }
  checks.push_back({name, Verdict::kOk, observed});
}

CpuSet cpus_or_none(const std::optional<std::string>& list) {
  return list && !list->empty() ? parse_cpu_list(*list).value_or(CpuSet{}) : CpuSet{};
}

void check_offline(const ObservedSystem& system, Checks& checks) {
  const ObservedKernel& kernel = system.kernel;
  const CpuSet offline = cpus_or_none(kernel.offline) & cpus_or_none(kernel.present);
  const std::string smt = kernel.smt_control.value_or("");
  if (offline.empty()) {
    checks.push_back({"offline-cpus", Verdict::kOk, "none"});
  } else if (smt == "off" || smt == "forceoff") {
    checks.push_back(
        {"offline-cpus", Verdict::kOk, fmt::format("{}, with SMT {}", offline.to_string(), smt)});
  } else {
    std::vector<std::int32_t> ids;
    for (const CpuId cpu : offline) ids.push_back(cpu.value);
    checks.push_back(
        {"offline-cpus", Verdict::kWarning, offline.to_string(),
         "all CPUs online, or the change planned by 'pinfold reconfigure'",
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
    checks.push_back({"numa-balancing", Verdict::kOk,
                      !value          ? "not in this kernel"
                      : *value == "0" ? "off"
                                      : "on, and the memory manager is off"});
    return;
  }
  checks.push_back({"numa-balancing", Verdict::kWarning,
                    fmt::format("kernel.numa_balancing is {}: it scans and moves pages of pinned "
                                "containers",
                                *value),
                    "0, because the memory manager places pages",
                    "sysctl -w kernel.numa_balancing=0"});
}

/// Where two descriptions of one machine differ; "": nowhere.
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
    checks.push_back({"hwloc", Verdict::kUnknown, system.hwloc_error,
                      "the machine that /sys describes", "lstopo --no-io"});
    return;
  }
  const std::string differs = difference(*system.machine, *system.hwloc);
  if (differs.empty()) {
    checks.push_back({"hwloc", Verdict::kOk, "the same machine as in /sys"});
    return;
  }
  checks.push_back({"hwloc", Verdict::kWarning, fmt::format("/sys has {}", differs),
                    "the same machine: decisions use /sys, the positions of devices use hwloc",
                    "unset HWLOC_XMLFILE HWLOC_SYNTHETIC HWLOC_FSROOT; lstopo --no-io"});
}

}  // namespace

void check_machine(const ObservedSystem& system, Checks& checks) {
  if (!system.machine) {
    checks.push_back({"machine", Verdict::kProblem, system.machine_error,
                      "CPUs and NUMA nodes in /sys/devices/system", "mount -t sysfs none /sys"});
    return;
  }
  const Machine& machine = *system.machine;
  const auto& warnings = machine.description().warnings;
  const std::string observed =
      fmt::format("CPUs {}, {} NUMA node{}", machine.all_cpus().to_string(), machine.numa_count(),
                  machine.numa_count() == 1 ? "" : "s");
  if (warnings.empty()) {
    checks.push_back({"machine", Verdict::kOk, observed});
  } else {
    checks.push_back({"machine", Verdict::kWarning,
                      fmt::format("{}; {}", observed, fmt::join(warnings, "; ")),
                      "files in /sys without contradictions", "pinfold topology"});
  }
  check_hwloc(system, checks);
}

void check_kernel(const ObservedSystem& system, Checks& checks) {
  check_features(system, checks);
  if (system.kernel.command_line) {
    check_parameter(system, "isolcpus", checks);
    check_parameter(system, "nohz_full", checks);
  } else {
    checks.push_back({"isolcpus", Verdict::kUnknown, "'/proc/cmdline' cannot be read",
                      "the kernel's command line", ""});
  }
  check_offline(system, checks);
  check_balancing(system, checks);
}

}  // namespace pinfold::audit
