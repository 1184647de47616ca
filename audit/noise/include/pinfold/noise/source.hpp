#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pinfold::noise {

/// What interrupts a CPU.
enum class SourceKind {
  kInterrupt,        ///< of a device; it has a number
  kTimer,            ///< the CPU's timer: ticks and timers
  kKernelInterrupt,  ///< between CPUs, or of the CPU itself: RES, CAL, TLB, NMI, ...
  kSoftirq,          ///< runs at the end of an interrupt, so it is not a separate interruption
  kWorkqueue,        ///< a kworker
  kKernelThread,     ///< any other
  kExec,             ///< a command that was executed in the CPU's own container
  kTask,             ///< a thread of anything else
  kHypervisor,       ///< the CPU is virtual, and its host ran something else
};
/// Returns the word in JSON and text: "kernel-interrupt".
[[nodiscard]] std::string_view to_string(SourceKind kind);

/// One source of noise on one CPU.
struct NoiseSource {
  SourceKind kind = SourceKind::kInterrupt;
  std::string name;               ///< "24", "LOC", "NET_RX", "kworker/3:1-events", "sshd"
  std::string detail = {};        ///< of an interrupt its device, of a thread its cgroup; "": none
  double per_second = 0;          ///< interruptions; of a softirq: how often it ran
  std::optional<double> lost_us;  ///< microseconds lost per second; nullopt: not counted by kernel
  std::string remedy = {};        ///< what removes it

  friend bool operator==(const NoiseSource&, const NoiseSource&) = default;
};

}  // namespace pinfold::noise
