#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "expectations.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

/// Returns the CPUs of `among` that handle an interrupt. One that has never occurred there costs
/// nothing: drivers reserve one for every CPU, and the kernel lists unused ones too.
CpuSet handled_on(const Observed& observed, const ObservedIrq& irq, const CpuSet& among) {
  const CpuSet here = irq.cpus & among;
  return observed.interrupts ? observed.interrupts->came_on(irq.number, here) : here;
}

/// Returns why the kernel may refuse to move interrupts off `cpus`. With managed_irq it has moved
/// every one whose queue also has other CPUs. Source: Linux, admin-guide/kernel-parameters,
/// isolcpus.
std::string managed_note(const Case& given, const CpuSet& cpus) {
  const auto& managed = given.observed.isolcpus.managed_irq;
  if (!managed || !managed->contains_all(cpus)) {
    return "  # EIO: managed by the kernel; boot with 'isolcpus=managed_irq,CPUS'";
  }
  return "  # EIO: managed by the kernel, where 'isolcpus=managed_irq' leaves only I/O of these "
         "CPUs";
}

/// Returns the command that sends interrupts to the system's CPUs. It stops irqbalance first, which
/// would move them back. `cpus`: those that handle them now.
std::string send_elsewhere(const Case& given, const std::vector<int>& numbers, const CpuSet& cpus) {
  const CpuSet& there = given.housekeeping;
  if (there.empty()) return "";
  const auto& processes = given.observed.processes;
  const bool is_balanced = std::any_of(processes.begin(), processes.end(), [](const auto& one) {
    return one.second.stat.name == "irqbalance";
  });
  std::string remedy;
  if (is_balanced && given.observed.machine) {
    remedy = fmt::format(
        "echo IRQBALANCE_BANNED_CPULIST={} >> /etc/default/irqbalance && systemctl restart "
        "irqbalance && ",
        (given.observed.machine->all_cpus() - there).to_string());
  }
  if (numbers.size() == 1) {
    return remedy + fmt::format("echo {} > /proc/irq/{}/smp_affinity_list{}", there.to_string(),
                                numbers.front(), managed_note(given, cpus));
  }
  return remedy +
         fmt::format("for irq in {}; do echo {} > /proc/irq/$irq/smp_affinity_list; done{}",
                     fmt::join(numbers, " "), there.to_string(), managed_note(given, cpus));
}

}  // namespace

void judge_irqs(const Case& given, std::vector<Finding>& findings) {
  for (const Placed& placed : given.containers) {
    const AuditedContainer& container = placed.audited;
    if (!container.is_exclusive || !container.is_running) continue;
    std::vector<int> numbers;
    CpuSet cpus;
    std::string example;
    for (const ObservedIrq& irq : given.observed.irqs) {
      const CpuSet here = handled_on(given.observed, irq, *container.expected);
      if (here.empty()) continue;
      if (numbers.empty()) example = irq.name;
      numbers.push_back(irq.number);
      cpus |= here;
    }
    if (numbers.empty()) continue;
    findings.push_back(
        {"irq", Severity::kWarning, subject_of(container), enforce::to_list(numbers), "",
         fmt::format("its {} {} {} interrupt{}: {}{}", cpus_named(cpus),
                     one_or_more(cpus, "handles", "handle"), numbers.size(),
                     numbers.size() == 1 ? "" : "s", enforce::to_list(numbers),
                     example.empty() ? "" : fmt::format(" (first: {})", example)),
         show_file(given.observed, fmt::format("/proc/irq/{}/smp_affinity_list", numbers[0])),
         send_elsewhere(given, numbers, cpus)});
  }
}

}  // namespace pinfold::audit
