#pragma once

#include <sys/types.h>

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/enforce/group.hpp"

/// The processes of a group, and what /proc says of a process.
namespace pinfold::enforce {

/// Processes of a group, of a container also those of the groups below it; ascending. A group that
/// does not exist has none. Errors: kIo.
[[nodiscard]] Result<std::vector<pid_t>> processes(const Group& group);
/// The same of any group, with the groups below it in the hierarchy with the cpusets.
[[nodiscard]] Result<std::vector<pid_t>> processes_below(const Group& group);
/// The same of a directory that another program names. Errors: those of open_named_cgroup_fs, kIo.
[[nodiscard]] Result<std::vector<pid_t>> processes_below(const std::string& directory);
/// True if a process is in the group itself, in every hierarchy. Errors: kNotFound, kIo.
[[nodiscard]] Result<bool> holds(const Group& group, pid_t process);
/// Moves a process into a group, in every hierarchy. Errors: kNotFound, kIo.
[[nodiscard]] Result<void> attach(const Group& group, pid_t process);
/// Kills the processes of a group and waits until they have ended, at most `timeout`.
/// Errors: kBusy if some are left then; kUnsupported for processes of another kernel without
/// cgroup.kill; kIo.
[[nodiscard]] Result<void> kill_processes(const Group& group, std::chrono::milliseconds timeout);
/// "7, 8, ...": at most eight of them, for a message.
[[nodiscard]] std::string to_list(const std::vector<pid_t>& processes);

/// A process. A later one with the same number has another start time.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< field 22 of /proc/PID/stat

  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

/// The processes of a kernel.
class ProcessTable {
 public:
  ProcessTable() = default;
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;
  virtual ~ProcessTable() = default;

  /// nullopt if there is no such process, or if it has ended and only its parent has not noticed.
  [[nodiscard]] virtual std::optional<ProcessId> identify(pid_t pid) const = 0;
  /// The path of a process in the hierarchy with the cpusets, which has this version; "" if the
  /// process has ended.
  [[nodiscard]] virtual std::string cpuset_path(pid_t pid, CgroupVersion cpusets) const = 0;
  /// The CPUs that each of its threads may run on; none if it has ended, or if that is not known.
  [[nodiscard]] virtual std::vector<CpuSet> allowed_cpus(pid_t pid) const;
  /// Lets all its threads run on every CPU of its group, from now on also on those that the group
  /// gets later. Errors: kNotFound if it has ended; kUnsupported; kIo.
  [[nodiscard]] virtual Result<void> widen_affinity(pid_t pid) const;
};

/// The same of this_kernel().
[[nodiscard]] std::optional<ProcessId> identify(pid_t pid);
[[nodiscard]] std::string cpuset_path(pid_t pid, CgroupVersion cpusets);
[[nodiscard]] std::vector<CpuSet> allowed_cpus(pid_t pid);
[[nodiscard]] Result<void> widen_affinity(pid_t pid);
/// What /proc/PID/stat says of a process that has not ended.
struct ProcessStat {
  pid_t parent = 0;  ///< 0: none that can be seen from here
  bool is_kernel_thread = false;
  std::uint64_t start_time = 0;
};
/// nullopt as identify.
[[nodiscard]] std::optional<ProcessStat> stat_of(pid_t pid);
/// True if `process` is `ancestor` or descends from it.
[[nodiscard]] bool descends_from(pid_t process, pid_t ancestor);
/// True if `path` is `group` ("pod1/c1", relative to any root) or lies below it.
[[nodiscard]] bool is_within(std::string_view path, std::string_view group);
/// The absolute directory of its group in that hierarchy.
/// Errors: kNotFound, kInvalidArgument.
[[nodiscard]] Result<std::string> directory_of_process(pid_t pid, CgroupVersion cpusets);

}  // namespace pinfold::enforce
