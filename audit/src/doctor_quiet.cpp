#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "doctor_parts.hpp"
#include "observe_parts.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/discover/kernel_files.hpp"
#include "pinfold/types/named.hpp"

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
       fmt::format("{} {} a timer tick even while only one thread runs", cpus_named(ticking),
                   one_or_more(ticking, "has", "have")),
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

/// Returns the capabilities that pinfold.service lacks for its level, with what they are for.
std::vector<std::string> lacking_capabilities(const ObservedSystem& system) {
  const auto unit = system.systemd.capabilities.find("pinfold.service");
  const bool is_list = unit != system.systemd.capabilities.end() &&
                       unit->second.find('~') == std::string::npos;  // else all but these
  if (!is_list) return {};
  std::vector<std::string> lacking;
  if (!has_word(unit->second, ' ', "CAP_NET_ADMIN")) lacking.emplace_back("CAP_NET_ADMIN");
  const bool is_isolated = system.service.quiet == "isolated";
  if (is_isolated && !has_word(unit->second, ' ', "CAP_SYS_ADMIN")) {
    lacking.emplace_back("CAP_SYS_ADMIN");
  }
  return lacking;
}

void check_unit(const ObservedSystem& system, Checks& checks) {
  const auto lacking = lacking_capabilities(system);
  if (lacking.empty()) {
    checks.push_back(
        {"quiet-unit", CheckStatus::kOk, "pinfold.service has the capabilities for its level"});
    return;
  }
  checks.push_back(
      {"quiet-unit", CheckStatus::kWarning,
       fmt::format("pinfold.service lacks {}", fmt::join(lacking, " and ")),
       "CAP_NET_ADMIN with the host's network for masks of network queues; CAP_SYS_ADMIN for "
       "partitions of containers, unless systemd 261 or later makes their groups",
       fmt::format("mkdir -p /etc/systemd/system/pinfold.service.d && printf '[Service]\\n"
                   "CapabilityBoundingSet={}\\nPrivateNetwork=no\\n' > "
                   "/etc/systemd/system/pinfold.service.d/quiet.conf && systemctl daemon-reload && "
                   "systemctl restart pinfold",
                   fmt::join(lacking, " "))});
}

/// Of the runtimes only CRI-O has such a setting.
void check_exec(const ObservedSystem& system, Checks& checks) {
  const ObservedQuiet& quiet = system.quiet;
  if (!quiet.has_crio || quiet.crio_limits_exec) {
    checks.push_back({"quiet-exec", CheckStatus::kOk,
                      quiet.has_crio ? "CRI-O keeps executed commands on a container's first CPU"
                                     : "no CRI-O, whose exec_cpu_affinity would be checked"});
    return;
  }
  checks.push_back(
      {"quiet-exec", CheckStatus::kWarning,
       "CRI-O executes commands, such as probes, on all CPUs of a container",
       "exec_cpu_affinity = \"first\" of the runtime that runs quiet pods (CRI-O 1.34)",
       "printf '[crio.runtime.runtimes.crun]\\nexec_cpu_affinity = \"first\"\\n' > "
       "/etc/crio/crio.conf.d/99-exec.conf && systemctl restart crio"});
}

/// Returns whether a file of CRI-O sets it, for any runtime.
bool limits_exec(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t key = line.find_first_not_of(" \t");
    if (key == std::string::npos || line.compare(key, 17, "exec_cpu_affinity") != 0) continue;
    if (line.find("\"first\"", key) != std::string::npos) return true;
  }
  return false;
}

void observe_crio(const Tree& tree, ObservedQuiet& quiet) {
  const std::string directory = "/etc/crio/crio.conf.d";
  std::vector<std::string> files{"/etc/crio/crio.conf"};
  for (const std::string& name : tree.list(directory).value_or(std::vector<std::string>())) {
    files.push_back(fmt::format("{}/{}", directory, name));
  }
  for (const std::string& file : files) {
    const auto text = tree.read(file);
    quiet.has_crio = quiet.has_crio || text;
    quiet.crio_limits_exec = quiet.crio_limits_exec || (text && limits_exec(*text));
  }
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
  observe_crio(tree, quiet);
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
  check_exec(system, checks);
  check_unit(system, checks);
  check_scheduler(system, checks);
}

}  // namespace pinfold::audit
