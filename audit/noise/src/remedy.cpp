#include "pinfold/noise/remedy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace pinfold::noise {
namespace {

struct NoiseRemedy {
  std::string_view name;
  std::string_view remedy;  ///< {} is the CPU
};

/// Rows of /proc/interrupts without a number.
constexpr std::array kOfInterrupts = {
    NoiseRemedy{"RES",
                "threads of other CPUs wake threads here: keep the container's threads on "
                "its own CPUs, and system services off them (quiet: system)"},
    NoiseRemedy{"CAL",
                "other CPUs call functions here: quiet: isolated, or boot with "
                "'nohz_full={}'; a process whose threads share memory with others causes "
                "them itself"},
    NoiseRemedy{"TLB",
                "threads of the same process unmap memory on other CPUs: the program must "
                "allocate at its start; automatic NUMA balancing and huge pages cause it "
                "too: 'sysctl kernel.numa_balancing=0'"},
    NoiseRemedy{"NMI", "the watchdog: 'sysctl kernel.nmi_watchdog=0'; else a profiler runs"},
    NoiseRemedy{"PMI", "the watchdog: 'sysctl kernel.nmi_watchdog=0'; else a profiler runs"},
    NoiseRemedy{"IWI", "caused by other interrupts; 'nohz_full={}' ends most of it"},
    NoiseRemedy{"MCP", "boot with 'mce=ignore_ce': corrected memory errors are then not polled"},
    NoiseRemedy{"TRM", "the CPU was too hot: cooling, or a lower power limit"},
};

constexpr std::array kOfSoftirqs = {
    NoiseRemedy{"TIMER", "boot with 'nohz_full={}'"},
    NoiseRemedy{"HRTIMER",
                "timers of the container's own threads: raise /proc/PID/timerslack_ns to have "
                "fewer; or the tick: 'nohz_full={}'"},
    NoiseRemedy{"SCHED", "load balancing: quiet: isolated, or boot with 'nohz_full={}'"},
    NoiseRemedy{"RCU", "boot with 'rcu_nocbs={}'"},
    NoiseRemedy{"NET_RX", "quiet: interrupts (moves the network's interrupts and RPS masks)"},
    NoiseRemedy{"NET_TX", "quiet: interrupts (moves the network's interrupts and XPS masks)"},
    NoiseRemedy{"BLOCK",
                "quiet: interrupts; or 'echo 2 > /sys/block/DEV/queue/rq_affinity' so "
                "that requests end where they began"},
    NoiseRemedy{"IRQ_POLL", "quiet: interrupts"},
    NoiseRemedy{"TASKLET", "quiet: interrupts: a driver's interrupt schedules it"},
    NoiseRemedy{"HI", "quiet: interrupts: a driver's interrupt schedules it"},
};

/// Kernel threads that are bound to a CPU, by the beginning of their names.
constexpr std::array kOfBoundThreads = {
    NoiseRemedy{"ksoftirqd/", "goes with the softirqs above"},
    NoiseRemedy{"irq/", "goes with its interrupt: quiet: interrupts"},
    NoiseRemedy{"rcuc/", "boot with 'rcu_nocbs={}'"},
    NoiseRemedy{"rcuo", "boot with 'rcu_nocbs={}', and move it: quiet: system"},
    NoiseRemedy{"migration/",
                "only while a thread moves, or the kernel patches "
                "itself"},
    NoiseRemedy{"watchdog/", "boot with 'nowatchdog'"},
    NoiseRemedy{"cpuhp/", "only while CPUs go online or offline"},
};

std::string remedy_in(std::span<const NoiseRemedy> remedies, std::string_view name, CpuId cpu) {
  const auto found = std::find_if(remedies.begin(), remedies.end(), [&](const NoiseRemedy& one) {
    return name.starts_with(one.name);
  });
  if (found == remedies.end()) return "";
  return fmt::format(fmt::runtime(found->remedy), cpu.value);
}

std::string cpus_or_word(const CpuSet& housekeeping) {
  return housekeeping.empty() ? "CPUS" : housekeeping.to_string();
}

std::string of_interrupt(const NoiseSource& source, CpuId cpu, const CpuSet& housekeeping) {
  return fmt::format(
      "quiet: interrupts; or 'echo {} > /proc/irq/{}/smp_affinity_list' (EIO: its driver manages "
      "it; boot with 'isolcpus=managed_irq,{}')",
      cpus_or_word(housekeeping), source.name, cpu.value);
}

std::string of_workqueue(const NoiseSource& source, CpuId cpu) {
  if (source.name.starts_with("kworker/u")) {
    return "quiet: system; or a mask without the CPU in /sys/devices/virtual/workqueue/cpumask";
  }
  return fmt::format(
      "work that was queued on this CPU: 'sysctl vm.stat_interval=3600' for vmstat_update, a "
      "driver's setting for others; boot with 'nohz_full={}' for most of it",
      cpu.value);
}

std::string of_kernel_thread(const NoiseSource& source, CpuId cpu) {
  auto bound = remedy_in(kOfBoundThreads, source.name, cpu);
  return bound.empty() ? "quiet: system, if it may move: 'taskset -pc CPUS PID' fails otherwise"
                       : bound;
}

std::string of_task(const NoiseSource& source, const CpuSet& housekeeping) {
  const std::string_view path = source.detail;
  const std::string_view unit = path.substr(path.rfind('/') + 1);
  const bool is_unit = unit.ends_with(".service") || unit.ends_with(".slice");
  return fmt::format("quiet: system; or 'systemctl set-property --runtime {} AllowedCPUs={}'",
                     is_unit ? unit : "UNIT", cpus_or_word(housekeeping));
}

}  // namespace

std::string remedy_of(const NoiseSource& source, CpuId cpu, const CpuSet& housekeeping) {
  switch (source.kind) {
    case SourceKind::kInterrupt:
      return of_interrupt(source, cpu, housekeeping);
    case SourceKind::kTimer:
      return fmt::format(
          "boot with 'nohz_full={}': no tick while a single thread runs; to have fewer timers of "
          "the program itself, raise /proc/PID/timerslack_ns",
          cpu.value);
    case SourceKind::kKernelInterrupt:
      return remedy_in(kOfInterrupts, source.name, cpu);
    case SourceKind::kSoftirq:
      return remedy_in(kOfSoftirqs, source.name, cpu);
    case SourceKind::kWorkqueue:
      return of_workqueue(source, cpu);
    case SourceKind::kKernelThread:
      return of_kernel_thread(source, cpu);
    case SourceKind::kExec:
      return "probes of the kinds httpGet, tcpSocket and grpc execute nothing; or keep commands on "
             "the container's first CPU by the runtime's execCPUAffinity (CRI-O: exec_cpu_affinity "
             "= "
             "\"first\")";
    case SourceKind::kTask:
      return of_task(source, housekeeping);
    case SourceKind::kHypervisor:
      break;
  }
  return "on the host: give the virtual CPU a physical CPU that is exclusive to it";
}

}  // namespace pinfold::noise
