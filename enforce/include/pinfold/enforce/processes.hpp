#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "pinfold/enforce/group.hpp"
#include "pinfold/enforce/process_table.hpp"

/// The processes of a group.
namespace pinfold::enforce {

/// Returns the processes of a group, for a container including the groups below it; ascending. A
/// group that does not exist has none. Errors: kIo; kUnsupported if it has processes of another PID
/// namespace. Those are not listed at all with cgroup v1.
[[nodiscard]] Result<std::vector<pid_t>> processes(const GroupReader& group);
/// Does the same for any group, with the groups below it in the cpuset hierarchy.
[[nodiscard]] Result<std::vector<pid_t>> processes_below(const GroupReader& group);
/// Does the same for a directory that another program named. Errors: as open_named_cgroup_fs; kIo.
[[nodiscard]] Result<std::vector<pid_t>> processes_below(const std::string& directory);
/// Returns true if a process is in the group itself, in every hierarchy. Errors: kNotFound, kIo.
[[nodiscard]] Result<bool> holds(const GroupReader& group, pid_t process);
/// Moves a process into a group, in every hierarchy. Errors: kNotFound, kIo.
[[nodiscard]] Result<void> attach(const Group& group, pid_t process);
/// Kills the processes of a group and waits at most `timeout` until they have ended.
/// Errors: kBusy if some are left after that; kUnsupported for processes of another kernel if there
/// is no cgroup.kill; kIo.
[[nodiscard]] Result<void> kill_processes(const Group& group, std::chrono::milliseconds timeout);
/// Returns "7, 8, ..." for a message: at most eight of them.
[[nodiscard]] std::string to_list(const std::vector<pid_t>& processes);

}  // namespace pinfold::enforce
