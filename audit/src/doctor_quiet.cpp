#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "doctor_parts.hpp"
#include "observe_parts.hpp"
#include "pinfold/discover/kernel_files.hpp"

// What a node with the setting `quiet` needs besides it. Without the setting nothing is checked:
// exclusive CPUs are then exclusive among containers only, as the kubelet's are.

namespace pinfold::audit {
namespace {

constexpr const char* kReboot = "on the kernel's command line, and reboot";

void check_tick(const ObservedSystem& system, const CpuSet& quiet, Checks& checks) {
  const auto shown =
      system.kernel.nohz_full ? parse_cpu_list(*system.kernel.nohz_full) : Result<CpuSet>(CpuSet());
  const CpuSet tickless = shown.value_or(CpuSet());  // "(null)": none
  const CpuSet ticking = quiet - tickless;
  if (ticking.empty()) {
    checks.push_back(
        {"quiet-tick", CheckStatus::kOk, fmt::format("nohz_full={}", tickless.to_string())});
    return;
  }
  checks.push_back(
      {"quiet-tick", CheckStatus::kWarning,
       fmt::format("CPUs {} have a timer tick also while one thread runs", ticking.to_string()),
       "nohz_full and rcu_nocbs for every CPU that containers can have exclusively",
       fmt::format("set 'nohz_full={0} rcu_nocbs={0}' {1}", quiet.to_string(), kReboot),
       "the kernel does more at each system call of these CPUs"});
}

void check_managed(const ObservedSystem& system, const CpuSet& quiet, Checks& checks) {
  if (boot_isolcpus(system).managed_irq) {
    checks.push_back({"quiet-managed", CheckStatus::kOk, "isolcpus=managed_irq"});
    return;
  }
  checks.push_back({"quiet-managed", CheckStatus::kWarning,
                    "interrupts that drivers manage (NVMe, virtio) cannot be moved",
                    "isolcpus=managed_irq for every CPU that containers can have exclusively",
                    fmt::format("set 'isolcpus=managed_irq,{}' {}", quiet.to_string(), kReboot)});
}

void check_irqbalance(const ObservedSystem& system, const CpuSet& quiet, Checks& checks) {
  if (!system.quiet.programs.contains("irqbalance")) {
    checks.push_back({"quiet-irqbalance", CheckStatus::kOk, "does not run"});
  } else if (system.quiet.irqbalance_listens) {
    checks.push_back(
        {"quiet-irqbalance", CheckStatus::kOk, "runs, and gets the list of CPUs to leave alone"});
  } else {
    checks.push_back(
        {"quiet-irqbalance", CheckStatus::kWarning,
         "irqbalance runs without a socket in '/run/irqbalance': it moves interrupts back",
         "irqbalance with a socket, or with a fixed list of banned CPUs",
         fmt::format("echo IRQBALANCE_BANNED_CPULIST={} >> /etc/default/irqbalance && systemctl "
                     "restart irqbalance",
                     quiet.to_string())});
  }
}

void check_tuned(const ObservedSystem& system, Checks& checks) {
  if (!system.quiet.programs.contains("tuned")) {
    checks.push_back({"quiet-tuned", CheckStatus::kOk, "does not run"});
    return;
  }
  checks.push_back({"quiet-tuned", CheckStatus::kWarning,
                    "tuned runs: profiles such as cpu-partitioning write the same interrupts and "
                    "workqueues when they start",
                    "a profile that leaves them alone, such as throughput-performance",
                    "tuned-adm profile throughput-performance",
                    "other settings of the present profile end"});
}

/// A clock daemon is a system service, but often one with a real-time priority.
void check_chrony(const ObservedSystem& system, Checks& checks) {
  const bool moves_services =
      system.service.quiet == "system" || system.service.quiet == "isolated";
  if (!system.quiet.programs.contains("chronyd") || moves_services) {
    checks.push_back({"quiet-chrony", CheckStatus::kOk,
                      moves_services ? "is moved like all services" : "does not run"});
    return;
  }
  checks.push_back({"quiet-chrony", CheckStatus::kWarning,
                    fmt::format("chronyd may run on quiet CPUs: 'quiet: {}' moves no services",
                                system.service.quiet),
                    "quiet: system, which moves services",
                    "set 'quiet: system' in '/etc/pinfold/agent.yaml', then: systemctl restart "
                    "pinfold"});
}

void check_scheduler(const ObservedSystem& system, Checks& checks) {
  const std::string& scheduler = system.quiet.scheduler;
  if (scheduler.empty()) {
    checks.push_back({"quiet-scheduler", CheckStatus::kOk, "the kernel's own"});
    return;
  }
  checks.push_back({"quiet-scheduler", CheckStatus::kWarning,
                    fmt::format("the scheduler '{}' (sched_ext) is loaded: it decides where "
                                "threads run within their CPUs, and wakes CPUs itself",
                                scheduler),
                    "the kernel's own scheduler", "stop the program that has loaded it"});
}

}  // namespace

ObservedQuiet observe_quiet(const Tree& tree, Problems& problems) {
  constexpr std::array kPrograms = {"irqbalance", "tuned", "chronyd"};
  ObservedQuiet quiet;
  for (const pid_t pid : list_pids(tree, problems)) {
    const auto name = tree.read(fmt::format("/proc/{}/comm", pid));
    if (!name) continue;
    if (std::find(kPrograms.begin(), kPrograms.end(), *name) != kPrograms.end()) {
      quiet.programs.insert(*name);
    }
  }
  const auto sockets = tree.list("/run/irqbalance");
  quiet.irqbalance_listens = sockets && !sockets->empty();
  const auto state = tree.read("/sys/kernel/sched_ext/state");
  if (state && *state == "enabled") {
    quiet.scheduler = tree.read("/sys/kernel/sched_ext/root/ops").value_or("unknown");
  }
  return quiet;
}

void check_quiet(const ObservedSystem& system, Checks& checks) {
  const std::string& level = system.service.quiet;
  if (level.empty() || level == "off") return;
  const CpuSet quiet = exclusive_candidates(system);
  check_tick(system, quiet, checks);
  check_managed(system, quiet, checks);
  check_irqbalance(system, quiet, checks);
  check_tuned(system, checks);
  check_chrony(system, checks);
  check_scheduler(system, checks);
}

}  // namespace pinfold::audit
