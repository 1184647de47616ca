#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::enforce {

/// One line of /proc/PID/mountinfo, the fields that matter here.
struct Mount {
  std::string root;     ///< the part of the file system that is mounted
  std::string point;    ///< where it is mounted
  std::string fs_type;  ///< "cgroup2", "cgroup", ...
  std::string super_options;

  friend bool operator==(const Mount&, const Mount&) = default;
};

/// Reads /proc/PID/mountinfo (see proc(5)); octal escapes are undone.
/// Domain: at most 16 MiB.
/// Errors: kInvalidArgument with the line's number.
[[nodiscard]] Result<std::vector<Mount>> parse_mountinfo(std::string_view text);

enum class Controller { kCpuset, kCpu, kMemory, kHugetlb };
inline constexpr Controller kAllControllers[] = {Controller::kCpuset, Controller::kCpu,
                                                 Controller::kMemory, Controller::kHugetlb};
/// As the kernel names it: "cpuset".
[[nodiscard]] std::string_view to_string(Controller controller);
/// The controller whose file it is: "cpu.max" belongs to "cpu".
[[nodiscard]] std::optional<Controller> controller_of(std::string_view file);

enum class CgroupVersion { kV1 = 1, kV2 = 2 };

class ProcessTable;
/// That of the kernel that this program runs on: /proc.
[[nodiscard]] const ProcessTable& this_kernel();

/// One hierarchy of control groups and its controllers.
struct HierarchyRoot {
  CgroupVersion version = CgroupVersion::kV2;
  std::string directory;  ///< absolute path of the root of the groups in it
  std::vector<Controller> controllers;
  /// Who the processes in its groups are. Not this_kernel(): their ids are another kernel's, and
  /// mean nothing in /proc and to kill(); null: nobody knows them.
  const ProcessTable* processes = &this_kernel();

  friend bool operator==(const HierarchyRoot&, const HierarchyRoot&) = default;
};

/// Finds which hierarchies control the groups below `root`: detected, never guessed. The mount
/// that contains `root` decides; a controller that it does not have is looked for in the other
/// hierarchies, at the same relative path.
/// `root`: absolute, without symbolic links. `controllers_at`: the content of cgroup.controllers in
/// a directory of a cgroup2 mount, "" if there is none.
/// Errors: kInvalidArgument if `root` is not in a control group file system; kUnsupported if no
/// hierarchy has the cpuset controller.
[[nodiscard]] Result<std::vector<HierarchyRoot>> locate(
    std::span<const Mount> mounts, const std::string& root,
    const std::function<std::string(const std::string& directory)>& controllers_at);

/// The path that a group of one hierarchy has in the mount that contains `home`, given one in any
/// mount of that hierarchy. Both absolute, without symbolic links.
/// Errors: kInvalidArgument if `path` is in no mount of control groups, or not below that mount.
[[nodiscard]] Result<std::string> path_in_mount_of(std::span<const Mount> mounts,
                                                   const std::string& path,
                                                   const std::string& home);

/// A process's path in the hierarchy with the cpusets, which has this version; "" if it has none.
/// `proc_cgroup`: the content of /proc/PID/cgroup.
[[nodiscard]] std::string cpuset_path(std::string_view proc_cgroup, CgroupVersion cpusets);
/// The absolute directory of that path.
/// Errors: kNotFound if the process has no such path, or its group is not mounted.
[[nodiscard]] Result<std::string> group_of_process(std::string_view proc_cgroup,
                                                   std::span<const Mount> mounts,
                                                   CgroupVersion cpusets);

}  // namespace pinfold::enforce
