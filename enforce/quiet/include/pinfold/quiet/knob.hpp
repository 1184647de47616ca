#pragma once

#include <compare>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::quiet {

/// A value of the system that is a set of CPUs, or follows from one. Kinds are in the order in
/// which they are written: irqbalance first, because it would undo the others; the CPUs that a
/// partition may have before the partition.
enum class KnobKind {
  kIrqbalance,     ///< the CPUs that irqbalance gives no interrupts; has no name
  kNewInterrupts,  ///< the CPUs of interrupts that do not exist yet; has no name
  kInterrupt,      ///< the CPUs of an interrupt, by its number
  kReceive,        ///< RPS: the CPUs that handle packets of a receive queue: "eth0/rx-0"
  kTransmit,       ///< XPS: the CPUs that send through a transmit queue: "eth0/tx-0"
  kWorkqueue,      ///< the CPUs of a workqueue: "writeback"; "*": of all that are not bound to CPUs
  kKernelThread,   ///< the CPUs of a thread of the kernel: "12 kswapd0"
  kUnit,           ///< the CPUs of a systemd unit: "system.slice"
  kExclusive,      ///< the CPUs that partitions in or below a cgroup may have; its directory
  kPartition,      ///< whether a cgroup is an isolated partition; its directory
};
/// Returns the word in messages and files: "kernel-thread".
[[nodiscard]] std::string_view to_string(KnobKind kind);
[[nodiscard]] std::span<const KnobKind> enumerators(KnobKind type);
/// Returns whether a kind isolates cgroups. Its knobs are those of the cgroups to be isolated.
[[nodiscard]] bool isolates(KnobKind kind);

/// Values of a kPartition. One that the kernel has made invalid counts as a member.
inline constexpr std::string_view kMemberPartition = "member";
inline constexpr std::string_view kIsolatedPartition = "isolated";

struct Knob {
  KnobKind kind = KnobKind::kInterrupt;
  std::string name = {};

  friend auto operator<=>(const Knob&, const Knob&) = default;
};
/// Returns "interrupt '24'", or "irqbalance".
[[nodiscard]] std::string to_string(const Knob& knob);

/// Knobs and their values, byte for byte without the line break at the end.
using KnobValues = std::map<Knob, std::string>;

/// Returns the CPUs in a value. A unit without a setting ("") may use all of `all`.
/// Errors: kInvalidArgument if the value is not a set of CPUs, such as that of a kPartition.
[[nodiscard]] Result<CpuSet> cpus_of(const Knob& knob, std::string_view value, const CpuSet& all);

/// Returns the value for a set of CPUs in the form that the system prints. `like`: a value of the
/// same knob; a mask gets as many digits as it has.
[[nodiscard]] std::string value_of(const Knob& knob, const CpuSet& cpus, std::string_view like);

}  // namespace pinfold::quiet
