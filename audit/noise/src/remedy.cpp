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

/// An interrupt of a CPU itself or between CPUs.
struct KernelInterrupt {
  std::string_view row;          ///< of /proc/interrupts on x86; "": it has none
  std::string_view description;  ///< begins so on every architecture: arm64 has rows IPI0 to IPI7
  std::string_view handler;      ///< in traces begins so; "": it is not traced
  std::string_view remedy;       ///< {} is the CPU
};
/// Source: arch/x86/kernel/irq.c, arch/arm64/kernel/smp.c.
constexpr std::array kOfInterrupts = {
    KernelInterrupt{"RES", "Rescheduling interrupts", "reschedule",
                    "threads of other CPUs wake threads here: keep the container's threads on its "
                    "own CPUs, and system services off them (quiet: system)"},
    KernelInterrupt{"CAL", "Function call interrupts", "call_function",
                    "other CPUs call functions here: quiet: isolated, or boot with 'nohz_full={}'; "
                    "a process whose threads share memory with others causes them itself"},
    KernelInterrupt{"TLB", "TLB shootdowns", "",
                    "threads of the same process unmap memory on other CPUs: the program must "
                    "allocate at its start; automatic NUMA balancing and huge pages cause it too: "
                    "'sysctl kernel.numa_balancing=0'"},
    KernelInterrupt{"NMI", "Non-maskable interrupts", "NMI",
                    "the watchdog: 'sysctl kernel.nmi_watchdog=0'; else a profiler runs"},
    KernelInterrupt{"PMI", "Performance monitoring interrupts", "",
                    "the watchdog: 'sysctl kernel.nmi_watchdog=0'; else a profiler runs"},
    KernelInterrupt{"IWI", "IRQ work interrupts", "irq_work",
                    "caused by other interrupts; 'nohz_full={}' ends most of it"},
    KernelInterrupt{"MCP", "Machine check polls", "",
                    "boot with 'mce=ignore_ce': corrected memory errors are then not polled"},
    KernelInterrupt{"TRM", "Thermal event interrupts", "thermal_apic",
                    "the CPU was too hot: cooling, or a lower power limit"},
    KernelInterrupt{"THR", "Threshold APIC interrupts", "threshold_apic",
                    "the hardware corrects errors, often of memory: 'journalctl -k' names the part "
                    "to replace"},
    KernelInterrupt{"DFR", "Deferred Error APIC interrupts", "deferred_error",
                    "the hardware found an error: 'journalctl -k' names the part to replace"},
    KernelInterrupt{"MCE", "Machine check exceptions", "",
                    "the hardware found an error: 'journalctl -k' names the part to replace"},
    KernelInterrupt{"SPU", "Spurious interrupts", "spurious_apic",
                    "an interrupt that its device withdrew: quiet: interrupts moves those of "
                    "devices"},
    KernelInterrupt{"", "", "error_apic", "the APIC found an error: 'journalctl -k' describes it"},
    KernelInterrupt{"RTR", "APIC ICR read retries", "",
                    "a retry of this CPU when it starts another one, not an interruption: take no "
                    "CPU online or offline"},
    KernelInterrupt{"PLT", "Platform interrupts", "x86_platform_ipi",
                    "a driver of this platform sends it: unload the driver"},
    KernelInterrupt{"HYP", "Hypervisor callback interrupts", "",
                    "the hypervisor calls this virtual CPU, for a virtual device or a page that it "
                    "has fetched: quiet: interrupts; on the host, lock the virtual machine's "
                    "memory"},
    KernelInterrupt{"HVS", "Hyper-V stimer0 interrupts", "",
                    "the CPU's timer on Hyper-V: boot with 'nohz_full={}'"},
    KernelInterrupt{"HRE", "Hyper-V reenlightenment interrupts", "",
                    "only after the virtual machine has moved to another host"},
    KernelInterrupt{"PMN", "Posted MSI notification event", "",
                    "interrupts of devices, which the IOMMU posts to the CPU: quiet: interrupts"},
    KernelInterrupt{"PIN", "Posted-interrupt notification event", "",
                    "a device of a virtual machine that runs on this CPU: give the virtual machine "
                    "other CPUs"},
    KernelInterrupt{"NPI", "Nested posted-interrupt event", "",
                    "a device of a virtual machine that runs on this CPU: give the virtual machine "
                    "other CPUs"},
    KernelInterrupt{"PIW", "Posted-interrupt wakeup event", "",
                    "a device of a virtual machine that last ran on this CPU: give the virtual "
                    "machine other CPUs"},
    KernelInterrupt{"", "Timer broadcast interrupts", "",
                    "the CPU's own timer stops in deep idle states, so another CPU wakes it: a "
                    "program that keeps the CPU busy has none; else boot with 'cpuidle.off=1'"},
    KernelInterrupt{"", "CPU stop", "", "only when the kernel stops, restarts or crashes"},
    KernelInterrupt{"", "CPU wake", "", "only when a CPU goes online"},
    KernelInterrupt{
        "", "CPU backtrace interrupts", "",
        "the kernel reports a hang, or an operator asked for stacks: see 'journalctl -k'"},
    KernelInterrupt{"", "KGDB roundup interrupts", "",
                    "the kernel's debugger stops all CPUs: boot without 'kgdboc'"},
};
/// For a source that is in no list.
constexpr std::string_view kOfUnknown =
    "no setting is known that removes this alone: quiet: isolated, and 'nohz_full={}' at boot, "
    "keep most work of the kernel away";

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

std::string of_kernel_interrupt(const NoiseSource& source, CpuId cpu) {
  const auto is_it = [&](const KernelInterrupt& one) {
    const auto begins = [](std::string_view text, std::string_view with) {
      return !with.empty() && text.starts_with(with);
    };
    return (!one.row.empty() && source.name == one.row) || begins(source.detail, one.description) ||
           begins(source.name, one.handler);
  };
  const auto* const found = std::find_if(kOfInterrupts.begin(), kOfInterrupts.end(), is_it);
  const auto remedy = found == kOfInterrupts.end() ? kOfUnknown : found->remedy;
  return fmt::format(fmt::runtime(remedy), cpu.value);
}

std::string of_softirq(const NoiseSource& source, CpuId cpu) {
  auto remedy = remedy_in(kOfSoftirqs, source.name, cpu);
  return remedy.empty() ? fmt::format(fmt::runtime(kOfUnknown), cpu.value) : remedy;
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

/// Returns whether a name may be part of a command as it is.
bool is_plain(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@";
  return !name.empty() && name.find_first_not_of(kPlain) == std::string_view::npos;
}

std::string of_kernel_thread(const NoiseSource& source, CpuId cpu, const CpuSet& housekeeping) {
  auto bound = remedy_in(kOfBoundThreads, source.name, cpu);
  if (!bound.empty()) return bound;
  const std::string process =
      is_plain(source.name) ? fmt::format("$(pgrep -x {})", source.name) : "PID";
  return fmt::format("quiet: system, if it may move: 'taskset -pc {} {}' fails otherwise",
                     cpus_or_word(housekeeping), process);
}

std::string of_task(const NoiseSource& source, const CpuSet& housekeeping) {
  const std::string_view path = source.detail;
  const std::string_view unit = path.substr(path.rfind('/') + 1);
  const bool is_unit = is_plain(unit) && (unit.ends_with(".service") || unit.ends_with(".slice"));
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
      return of_kernel_interrupt(source, cpu);
    case SourceKind::kSoftirq:
      return of_softirq(source, cpu);
    case SourceKind::kWorkqueue:
      return of_workqueue(source, cpu);
    case SourceKind::kKernelThread:
      return of_kernel_thread(source, cpu, housekeeping);
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
