#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/enforce/cgroup_fs.hpp"
#include "pinfold/enforce/control_values.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "pinfold/enforce/plan.hpp"

namespace pinfold::enforce {

/// One hierarchy, opened at the root of our groups.
struct Hierarchy {
  HierarchyRoot root;
  std::unique_ptr<CgroupFs> fs;
};

/// Puts something around the file system of a hierarchy: a caller that writes by itself.
using CgroupFsWrapper =
    std::function<std::unique_ptr<CgroupFs>(std::unique_ptr<CgroupFs>, const HierarchyRoot&)>;

/// Opens a directory of the hierarchy with the cpusets that is not below the root.
using CgroupFsOpener =
    std::function<Result<std::unique_ptr<CgroupFs>>(const std::string& directory)>;

/// The directory that groups go below if nobody says where: "pinfold" at the mount of the cpuset
/// controller, as libcgroup finds it.
/// Errors: kUnsupported if the controller is not mounted.
/// Thread-safety: none; libcgroup keeps its tables for the whole process.
[[nodiscard]] Result<std::string> default_root();

/// The control groups below a root, cgroup v1, v2 or both (hybrid) behind one interface. Nothing is
/// ever written outside the root. What is written is read back, and the effective sets decide
/// whether it took: docs/cgroups.md.
/// Thread-safety: none; one user at a time.
class Cgroups {
 public:
  /// Detects the hierarchies of `root` (a directory that exists in a cgroup mount), opens them and
  /// enables the controllers for groups below it. Everything below the root is done through what
  /// `wrap` makes of the file systems; empty: nothing.
  /// Errors: kInvalidArgument, kUnsupported (see locate), kNotFound, kIo.
  [[nodiscard]] static Result<Cgroups> open(const std::string& root,
                                            const CgroupFsWrapper& wrap = {});
  /// As open, over hierarchies that are there already. The first one must have cpuset.
  [[nodiscard]] static Result<Cgroups> make(std::vector<Hierarchy> hierarchies, KernelFacts facts,
                                            CgroupFsOpener open_elsewhere = open_cgroup_fs);

  [[nodiscard]] const KernelFacts& facts() const { return facts_; }
  /// The directory of the root in the hierarchy with the cpusets.
  [[nodiscard]] const std::string& root() const { return hierarchies_.front().root.directory; }
  /// "v2", "v1" or "hybrid".
  [[nodiscard]] std::string_view mode() const;
  /// "controller 'memory' is not available below '/sys/fs/cgroup/x': ..." for each one missing.
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// CPUs and memory nodes that the root has.
  [[nodiscard]] Result<CpuSet> machine_cpus();
  [[nodiscard]] Result<NodeSet> machine_mems();

  /// From now on the group of a container is this directory, which somebody else made (a container
  /// runtime) and will remove; absolute. Only its cpuset is written. An empty group that the
  /// container had below the root is removed.
  /// Errors: kNotFound if it is not there, or is no group with a cpuset.
  [[nodiscard]] Result<void> adopt(const GroupName& name, const std::string& directory);
  /// The adopted directory of a container; "" if its group is below the root.
  [[nodiscard]] std::string adopted(const GroupName& name) const;
  /// The directory of a process in the hierarchy with the cpusets.
  /// Errors: kNotFound, kInvalidArgument.
  [[nodiscard]] Result<std::string> directory_of(pid_t process) const;

  /// Does one step and checks its effect: a value is read back; a container with a set of its own
  /// must run on nothing else.
  /// Errors: kIo; kBusy for the removal of a group with processes; kUnsupported if the kernel made
  /// something else of what was written.
  [[nodiscard]] Result<void> apply(const Step& step);

  /// What the kernel has: every pod and container group below the root, with the files that
  /// `desired` names for it. A set that equals the parent's counts as none of its own where
  /// `desired` has none. A group as `desired` has it keeps its isolation; any other counts as
  /// shared.
  [[nodiscard]] Result<Layout> observe(const Layout& desired);

  /// Ends the partitions of groups that are to have none or other CPUs; before a plan is applied.
  [[nodiscard]] Result<void> end_partitions(const Layout& observed, const Layout& desired,
                                            Partition kind);
  /// Makes every container with CPUs of its own a partition, as far as the kernel lets it; after a
  /// plan was applied. What is no partition has its cpuset as without them.
  /// Returns: the kernel's reason for each that is none.
  [[nodiscard]] Result<std::map<GroupName, std::string>> begin_partitions(const Layout& desired,
                                                                          Partition kind);
  /// cgroup v1 takes a CPU that goes offline out of every group for good: gives the root back those
  /// of `needed` that its parent has. Does nothing on cgroup v2.
  void restore_root(const CpuSet& needed);

  [[nodiscard]] Result<CpuSet> effective_cpus(const GroupName& name);
  [[nodiscard]] Result<NodeSet> effective_mems(const GroupName& name);

  /// Processes of a group itself, of an adopted one also those of groups below it; ascending.
  [[nodiscard]] Result<std::vector<pid_t>> processes(const GroupName& name);
  /// True if a process is in a group itself, in every hierarchy.
  [[nodiscard]] Result<bool> holds(const GroupName& name, pid_t process);
  /// Moves a process into a group, in every hierarchy.
  [[nodiscard]] Result<void> attach(const GroupName& name, pid_t process);
  /// Kills what runs in a group and waits until nothing does, at most `timeout_ms`.
  /// Errors: kBusy if something still runs then.
  [[nodiscard]] Result<void> kill(const GroupName& name, int timeout_ms);

 private:
  /// A group in the hierarchy with the cpusets.
  struct Place {
    CgroupFs* fs = nullptr;
    std::string path;
  };
  struct Adopted {
    std::string directory;
    std::unique_ptr<CgroupFs> fs;
  };

  Cgroups() = default;
  [[nodiscard]] Result<void> end_partition(const std::string& path);
  [[nodiscard]] std::string begin_partition(const GroupName& name, Partition kind);
  [[nodiscard]] Result<Place> place_of(const GroupName& name);
  [[nodiscard]] Result<void> apply_to_adopted(const Step& step, const Place& place);
  [[nodiscard]] Result<void> observe_adopted(const Layout& desired, Layout& layout);
  [[nodiscard]] Result<void> set_and_read_back(const Place& place, const char* file,
                                               const CpuSet& set);
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<void> create(const GroupName& name, const std::string& path);
  [[nodiscard]] Result<void> remove(const GroupName& name, const std::string& path);
  [[nodiscard]] Result<void> set_list(const Step& step, const std::string& path);
  [[nodiscard]] Result<void> set_value(const Step& step, const std::string& path);
  [[nodiscard]] Result<void> verify(const Step& step);
  [[nodiscard]] Result<CpuSet> read_list(const Place& place, const std::string& file);
  [[nodiscard]] Result<GroupSettings> observe_group(const GroupName& name,
                                                    const GroupSettings* desired,
                                                    const GroupSettings* parent);
  [[nodiscard]] bool is_blank(const std::string& path);
  [[nodiscard]] bool is_complete(const GroupName& name, const std::string& path);
  [[nodiscard]] Hierarchy* hierarchy_of(std::string_view file);
  [[nodiscard]] bool cpuset_is_v2() const {
    return hierarchies_.front().root.version == CgroupVersion::kV2;
  }

  std::vector<Hierarchy> hierarchies_;  ///< the first one has cpuset
  KernelFacts facts_;
  CgroupFsOpener open_elsewhere_;
  std::map<GroupName, Adopted> adopted_;
};

/// Cgroups::open, after the last directory of `root` is made if it does not exist: nothing else is
/// ever made outside the root.
[[nodiscard]] Result<Cgroups> open_cgroups(const std::string& root,
                                           const CgroupFsWrapper& wrap = {});

}  // namespace pinfold::enforce
