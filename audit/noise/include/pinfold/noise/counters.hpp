#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/types/ids.hpp"

/// Parsers of the kernel's counters of what interrupts a CPU. Pure; they omit lines that do not
/// have the expected form.
namespace pinfold::noise {

/// A row of /proc/interrupts or /proc/softirqs, counted since the start of the kernel.
struct CountRow {
  std::string name;                        ///< "24", "LOC", "NET_RX"
  std::string description = {};            ///< "PCI-MSI 524288-edge nvme0q1"; "" of a softirq
  std::vector<std::uint64_t> counts = {};  ///< in the order of CountTable::cpus

  friend bool operator==(const CountRow&, const CountRow&) = default;
};

struct CountTable {
  std::vector<CpuId> cpus;          ///< of the columns, ascending
  std::vector<CountRow> rows = {};  ///< in the order of the file

  friend bool operator==(const CountTable&, const CountTable&) = default;
};
/// Parses /proc/interrupts or /proc/softirqs. Leaves out rows that count no CPUs (ERR, MIS).
[[nodiscard]] CountTable parse_counts(std::string_view text);

/// Time that a CPU has spent since the start of the kernel, as in /proc/stat: in multiples of a
/// clock tick, usually 10 ms.
struct LostTimes {
  std::chrono::microseconds interrupts{0};
  std::chrono::microseconds softirqs{0};
  std::chrono::microseconds stolen{0};  ///< a hypervisor ran something else

  friend bool operator==(const LostTimes&, const LostTimes&) = default;
};
/// Parses /proc/stat. Domain: `ticks_per_second` is positive; see sysconf(_SC_CLK_TCK).
[[nodiscard]] std::map<CpuId, LostTimes> parse_lost_times(std::string_view text,
                                                          std::int64_t ticks_per_second);

/// Parses /proc/schedstat: how often a CPU has begun to run a thread. Empty without
/// CONFIG_SCHEDSTATS. Source: Documentation/scheduler/sched-stats.rst, versions 15 to 17.
[[nodiscard]] std::map<CpuId, std::uint64_t> parse_runs(std::string_view text);

/// How much a thread has run since its start.
struct ThreadTimes {
  std::chrono::nanoseconds ran{0};
  std::chrono::nanoseconds waited{0};  ///< it could run, but had no CPU
  std::uint64_t runs = 0;              ///< how often it began to run

  friend bool operator==(const ThreadTimes&, const ThreadTimes&) = default;
};
/// Parses the schedstat of a thread: "5123000 9000 12".
[[nodiscard]] std::optional<ThreadTimes> parse_thread_times(std::string_view text);

}  // namespace pinfold::noise
