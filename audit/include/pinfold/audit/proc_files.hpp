#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/types/cpuset.hpp"

/// Parsers of the kernel's files about processes, quotas and interrupts. Pure; they omit anything
/// that does not have the expected form.
namespace pinfold::audit {

/// The fields of /proc/PID/stat, as views into its text.
struct StatFields {
  std::string_view id;
  std::string_view name;  ///< may contain any byte
  std::string_view rest;  ///< from the state (field 3) on

  /// Returns a field after the name, numbered from 3 as in proc(5); "" if the text has fewer.
  [[nodiscard]] std::string_view field(std::size_t number) const;
};
[[nodiscard]] std::optional<StatFields> split_proc_stat(std::string_view text);
/// PF_KTHREAD in the flags (field 9).
inline constexpr std::int64_t kKernelThreadFlag = 0x00200000;
/// PF_NO_SETAFFINITY, likewise.
inline constexpr std::int64_t kFixedCpusFlag = 0x04000000;
inline constexpr std::size_t kStatFlags = 9;

/// Returns the value of the line "NAME:\tVALUE" in /proc/PID/status; "" if there is none.
[[nodiscard]] std::string_view status_value(std::string_view status, std::string_view name);

/// /proc/PID/stat.
struct ProcStat {
  std::string name;
  pid_t parent = 0;
  bool is_kernel_thread = false;
  bool has_fixed_cpus = false;  ///< bound by the kernel for good
  bool has_ended = false;       ///< a zombie

  friend bool operator==(const ProcStat&, const ProcStat&) = default;
};
[[nodiscard]] std::optional<ProcStat> parse_proc_stat(std::string_view text);

/// Parses Cpus_allowed_list of /proc/PID/status.
[[nodiscard]] std::optional<CpuSet> parse_allowed_cpus(std::string_view status);

/// Parses the process ids of cgroup.procs, ascending; omits those of other pid namespaces (0).
[[nodiscard]] std::vector<pid_t> parse_pids(std::string_view text);

/// Parses cpu.max of cgroup v2, "200000 100000". The default value if it has no limit.
[[nodiscard]] enforce::CpuQuota parse_cpu_max(std::string_view text);
/// Parses cpu.cfs_quota_us and cpu.cfs_period_us of cgroup v1, likewise.
[[nodiscard]] enforce::CpuQuota parse_cfs(std::string_view quota, std::string_view period);
/// How often and how long a limit has stopped the processes of a group.
struct Throttled {
  std::uint64_t periods = 0;
  std::uint64_t usec = 0;

  friend bool operator==(const Throttled&, const Throttled&) = default;
};
/// Parses nr_throttled and throttled_usec (cgroup v1: throttled_time, in ns) of cpu.stat; 0 if
/// missing.
[[nodiscard]] Throttled parse_throttled(std::string_view cpu_stat);

/// /proc/interrupts: counts of each numbered interrupt on each CPU.
struct Interrupts {
  std::vector<std::int32_t> cpus;                         ///< of the columns
  std::map<int, std::vector<std::uint64_t>> counts = {};  ///< by interrupt, in the order of `cpus`
  std::map<int, std::string> names = {};

  /// Returns the CPUs of `among` that have handled interrupt `irq`.
  [[nodiscard]] CpuSet came_on(int irq, const CpuSet& among) const;
};
[[nodiscard]] Interrupts parse_interrupts(std::string_view text);

/// A word of /proc/cmdline, without quotes around it or around its value.
struct KernelParameter {
  std::string name;
  std::string value = {};  ///< "" if empty or without "="

  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};
[[nodiscard]] std::vector<KernelParameter> parse_kernel_command_line(std::string_view text);

/// Parses a CPU mask as the kernel prints it: "00000000,0000000f". nullopt for any other text, and
/// for CPUs from CpuSet::kMaxCpus on.
[[nodiscard]] std::optional<CpuSet> parse_cpu_mask(std::string_view text);

/// Removes everything up to the next separator from `rest`, or all of it if there is none, and
/// returns what came before the separator.
std::string_view cut_field(std::string_view& rest, char separator);
/// Cuts the next word between spaces or tabs off `rest`; "" at the end.
[[nodiscard]] std::string_view cut_word(std::string_view& rest);

/// Parses a decimal number; nullopt for any other text.
[[nodiscard]] std::optional<std::int64_t> parse_number(std::string_view text);

/// Returns true if `word` is in a list with separators.
[[nodiscard]] bool has_word(std::string_view list, char separator, std::string_view word);

}  // namespace pinfold::audit
