#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "pinfold/types/cpuset.hpp"

/// The processes of a kernel, and what /proc says about a process.
namespace pinfold::enforce {

/// Identifies a process: a later one with the same number has another start time.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< field 22 of /proc/PID/stat

  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

/// The processes of one kernel.
class ProcessTable {
 public:
  ProcessTable() = default;
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;
  virtual ~ProcessTable() = default;

  /// Returns nullopt if the process does not exist or is a zombie.
  [[nodiscard]] virtual std::optional<ProcessId> identify(pid_t pid) const = 0;
  /// Returns the path of a process in the cpuset hierarchy, which has version `cpusets`; "" if the
  /// process has ended.
  [[nodiscard]] virtual std::string cpuset_path(pid_t pid, CgroupVersion cpusets) const = 0;
  /// Returns the CPUs that each thread may run on; empty if the process has ended or they are
  /// unknown.
  [[nodiscard]] virtual std::vector<CpuSet> allowed_cpus(pid_t pid) const;
  /// Lets all its threads run on every CPU of its group, including CPUs that the group gets later.
  /// Errors: kNotFound if it has ended; kUnsupported; kIo.
  [[nodiscard]] virtual Result<void> widen_affinity(pid_t pid) const;
};

/// The same functions for this_kernel().
[[nodiscard]] std::optional<ProcessId> identify(pid_t pid);
[[nodiscard]] std::string cpuset_path(pid_t pid, CgroupVersion cpusets);
[[nodiscard]] std::vector<CpuSet> allowed_cpus(pid_t pid);
[[nodiscard]] Result<void> widen_affinity(pid_t pid);

/// Fields of /proc/PID/stat of a process that has not ended.
struct ProcessStat {
  pid_t parent = 0;  ///< 0 if the parent is not visible from here
  bool is_kernel_thread = false;
  std::uint64_t start_time = 0;
};
/// Returns nullopt in the same cases as identify().
[[nodiscard]] std::optional<ProcessStat> stat_of(pid_t pid);
/// Returns true if `process` is `ancestor` or descends from it.
[[nodiscard]] bool descends_from(pid_t process, pid_t ancestor);
/// Returns true if `path` is `group` ("pod1/c1", relative to any root) or is below it.
[[nodiscard]] bool is_within(std::string_view path, std::string_view group);
/// Returns the absolute directory of the process's group in the cpuset hierarchy.
/// Errors: kNotFound, kInvalidArgument.
[[nodiscard]] Result<std::string> directory_of_process(pid_t pid, CgroupVersion cpusets);

}  // namespace pinfold::enforce
