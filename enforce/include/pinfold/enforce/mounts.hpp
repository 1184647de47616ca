#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::enforce {

/// The fields of one line of /proc/PID/mountinfo that matter here.
struct Mount {
  std::string root;     ///< the part of the file system that is mounted
  std::string point;    ///< where it is mounted
  std::string fs_type;  ///< "cgroup2", "cgroup", ...
  std::string super_options;

  friend bool operator==(const Mount&, const Mount&) = default;
};

/// Parses /proc/PID/mountinfo (see proc(5)) and decodes its octal escapes.
/// Domain: at most 16 MiB.
/// Errors: kInvalidArgument, with the line number.
[[nodiscard]] Result<std::vector<Mount>> parse_mountinfo(std::string_view text);

enum class Controller { kCpuset, kCpu, kMemory, kHugetlb };
inline constexpr Controller kAllControllers[] = {Controller::kCpuset, Controller::kCpu,
                                                 Controller::kMemory, Controller::kHugetlb};
/// Returns the kernel's name: "cpuset".
[[nodiscard]] std::string_view to_string(Controller controller);
/// Returns the controller that a file belongs to: "cpu" for "cpu.max".
[[nodiscard]] std::optional<Controller> controller_of(std::string_view file);

enum class CgroupVersion { kV1 = 1, kV2 = 2 };

class ProcessTable;
/// Returns the process table of the running kernel: /proc.
[[nodiscard]] const ProcessTable& this_kernel();

/// One cgroup hierarchy and its controllers.
struct HierarchyRoot {
  CgroupVersion version = CgroupVersion::kV2;
  std::string directory;  ///< absolute path of the root directory in it
  std::vector<Controller> controllers;
  /// Identifies the processes in its groups. If it is not this_kernel(), their ids belong to
  /// another kernel and mean nothing to /proc or kill(). Null: the processes are unknown.
  const ProcessTable* processes = &this_kernel();
  /// False if cgroup.procs leaves out the processes of other PID namespaces, so that a group that
  /// lists none may have some: with cgroup v1, outside of the host's PID namespace.
  bool lists_all_processes = true;

  friend bool operator==(const HierarchyRoot&, const HierarchyRoot&) = default;
};

/// Detects which hierarchies control the groups below `root`. The mount that contains `root` comes
/// first; controllers that it does not have are looked up in the other hierarchies, at the same
/// relative path.
/// `root`: absolute, without symbolic links. `controllers_at`: returns the content of
/// cgroup.controllers in a directory of a cgroup2 mount, "" if there is no such file.
/// Errors: kInvalidArgument if `root` is not in a cgroup file system; kUnsupported if no hierarchy
/// has the cpuset controller.
[[nodiscard]] Result<std::vector<HierarchyRoot>> locate(
    std::span<const Mount> mounts, const std::string& root,
    const std::function<std::string(const std::string& directory)>& controllers_at);

/// Translates the path of a group from any mount of its hierarchy to the mount that contains
/// `home`. Both paths are absolute, without symbolic links.
/// Errors: kInvalidArgument if `path` is in no cgroup mount, or not below that mount.
[[nodiscard]] Result<std::string> path_in_mount_of(std::span<const Mount> mounts,
                                                   const std::string& path,
                                                   const std::string& home);

/// Returns the path of a process in the cpuset hierarchy, which has version `cpusets`; "" if it has
/// none. `proc_cgroup`: the content of /proc/PID/cgroup.
[[nodiscard]] std::string cpuset_path(std::string_view proc_cgroup, CgroupVersion cpusets);
/// Returns the absolute directory of that path.
/// Errors: kNotFound if the process has no such path or its group is not mounted.
[[nodiscard]] Result<std::string> group_of_process(std::string_view proc_cgroup,
                                                   std::span<const Mount> mounts,
                                                   CgroupVersion cpusets);

}  // namespace pinfold::enforce
