#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pinfold/enforce/cgroup_fs.hpp"
#include "pinfold/enforce/control_values.hpp"
#include "pinfold/enforce/group.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "pinfold/enforce/plan.hpp"
#include "pinfold/types/container_map.hpp"

namespace pinfold::enforce {

/// One hierarchy, opened at the root of the groups.
struct Hierarchy {
  HierarchyRoot root;
  std::unique_ptr<CgroupFs> fs;
};

/// Wraps the file system of a hierarchy, for a caller that writes by itself.
using CgroupFsWrapper =
    std::function<std::unique_ptr<CgroupFs>(std::unique_ptr<CgroupFs>, const HierarchyRoot&)>;

/// Opens a directory of the hierarchy with the cpusets that is not below the root.
using CgroupFsOpener =
    std::function<Result<std::unique_ptr<CgroupFs>>(const std::string& directory)>;

/// The one name of a directory that a client names somehow, in the mount that has the cpusets.
using CgroupResolver =
    std::function<Result<std::string>(const std::string& directory, const HierarchyRoot& cpusets)>;

/// The resolver of the running kernel: undoes "..", "//", symbolic links, /proc/self/root and other
/// mounts of the hierarchy, and checks by device and inode that both names are of one group.
/// Domain: `directory` is absolute.
/// Errors: kInvalidArgument for a directory that is not in this hierarchy, or cannot be reached
/// through the mount of `cpusets`; those of open_named_cgroup_fs.
[[nodiscard]] Result<std::string> canonical_directory(const std::string& directory,
                                                      const HierarchyRoot& cpusets);

/// The root that is used if none is given: "pinfold" at the mount of the cpuset controller, as
/// libcgroup finds it.
/// Errors: kUnsupported if the controller is not mounted.
/// Thread-safety: none; libcgroup keeps its tables for the whole process.
[[nodiscard]] Result<std::string> default_root();

/// The control groups below a root, cgroup v1, v2 or both (hybrid) behind one interface: it opens
/// them, observes them, and applies a step of a plan. Nothing is written outside the root but the
/// cpusets of adopted groups. What is written is read back, and the effective sets decide whether
/// it took effect: docs/cgroups.md.
/// Thread-safety: none; one user at a time.
class Cgroups {
 public:
  /// Detects the hierarchies of `root` (a directory that exists in a cgroup mount), opens them and
  /// enables the controllers for groups below it. Everything below the root is done through what
  /// `wrap` makes of the file systems; empty: nothing.
  /// Errors: kInvalidArgument, kUnsupported (see locate), kNotFound, kIo.
  [[nodiscard]] static Result<Cgroups> open(const std::string& root,
                                            const CgroupFsWrapper& wrap = {});
  /// As open, over hierarchies that are open already. The first one must have cpuset.
  [[nodiscard]] static Result<Cgroups> make(std::vector<Hierarchy> hierarchies, KernelFacts facts,
                                            CgroupFsOpener open_elsewhere = open_named_cgroup_fs,
                                            CgroupResolver resolve = canonical_directory);

  /// The same for a caller that only observes: enables nothing.
  [[nodiscard]] static Cgroups make_to_read(std::vector<Hierarchy> hierarchies, KernelFacts facts);

  [[nodiscard]] const KernelFacts& facts() const { return facts_; }
  /// The directory of the root in the hierarchy with the cpusets.
  [[nodiscard]] const std::string& root() const { return hierarchies_.front().root.directory; }
  /// "v2", "v1" or "hybrid".
  [[nodiscard]] std::string_view mode() const;
  /// "controller 'memory' is not available below '/sys/fs/cgroup/x': ..." for each missing one,
  /// with the kernel's reason if it refused to enable it.
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// The containers whose group a container runtime made, with its absolute directory. Of such a
  /// group only the cpuset is written; it is never made and never removed.
  void set_adopted(ContainerMap<std::string> adopted) { adopted_ = std::move(adopted); }
  [[nodiscard]] const ContainerMap<std::string>& adopted() const { return adopted_; }
  /// The one name of a group, however `directory` spells it. Errors: those of CgroupResolver.
  [[nodiscard]] Result<std::string> canonical(const std::string& directory) const {
    return resolve_(directory, hierarchies_.front().root);
  }
  /// Checks whether a container may have this group, and returns its canonical directory.
  /// Errors: kInvalidArgument for a directory that is not in the hierarchy with the cpusets, that
  /// contains the root or the groups of all pods, that is a pod's group below the root or in that
  /// of another pod, or that is, contains or is in the adopted group of another container;
  /// kNotFound if it does not exist, or has no cpuset.
  [[nodiscard]] Result<std::string> check_adoptable(const ContainerId& container,
                                                    const std::string& directory) const;
  [[nodiscard]] bool is_adopted(const GroupName& name) const {
    return !name.is_pod() && adopted_.contains(name.id());
  }

  /// The absolute directory of a group in the hierarchy with the cpusets; it need not exist.
  [[nodiscard]] std::string directory(const GroupName& name) const;
  /// The handle of a group; a group below the root need not exist.
  /// Errors: kInvalidArgument for a name that is none; kNotFound if an adopted group does not
  /// exist, or is no group with a cpuset.
  [[nodiscard]] Result<Group> group(const GroupName& name) const;
  [[nodiscard]] Group root_group() const;
  /// The handle of a group of another, in the hierarchy with the cpusets; it may be without a
  /// cpuset. Errors: kNotFound if it does not exist; kInvalidArgument for no group.
  [[nodiscard]] Result<Group> open_elsewhere(const std::string& directory) const;
  /// The groups of a pod that exist: its own first, then its containers', adopted ones included.
  /// Errors: kIo.
  [[nodiscard]] Result<std::vector<GroupName>> groups_of_pod(const PodUid& pod) const;
  /// Removes the group below the root of a container that has an adopted one, if it is empty.
  void remove_replaced(const ContainerId& container);

  /// CPUs and NUMA nodes that the root has. Errors: kIo.
  [[nodiscard]] Result<CpuSet> machine_cpus() const;
  /// These and the ones of `groups`: cgroup v2 takes the CPUs of a partition out of the groups
  /// above it. Errors: kIo.
  [[nodiscard]] Result<CpuSet> cpus_with_partitions(const Layout& groups) const;
  [[nodiscard]] Result<NodeSet> machine_mems() const;

  /// Applies one step and checks its effect: a value is read back; a container with a set of its
  /// own must run on nothing else.
  /// Errors: kIo; kBusy for the removal of a group with processes; kUnsupported if the kernel made
  /// something else of what was written.
  [[nodiscard]] Result<void> apply(const Step& step);

  /// What the kernel has: every pod and container group below the root and every adopted one that
  /// exists, with the files that `desired` names for it. A set that equals the parent's counts as
  /// none where `desired` has none. A group with the desired CPUs has the desired isolation; any
  /// other counts as shared. A group that cannot be read has the reason as its `problem`.
  /// Errors: kIo if the groups below the root cannot be listed.
  [[nodiscard]] Result<Layout> observe(const Layout& desired) const;
  /// The same for the groups of one pod.
  [[nodiscard]] Layout observe_pod(const PodUid& pod, const Layout& desired) const;
  /// The same for one adopted group; nullopt if it does not exist.
  [[nodiscard]] Result<std::optional<GroupSettings>> observe_adopted(
      const GroupName& name, const GroupSettings& desired) const;

 private:
  Cgroups() = default;
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<bool> make_usable(const Hierarchy& hierarchy, Controller controller);
  [[nodiscard]] const std::string* find_adopted(const GroupName& name) const;
  [[nodiscard]] Result<Group> open_adopted(const GroupName& name,
                                           const std::string& directory) const;
  [[nodiscard]] Result<Group> own_group(const GroupName& name) const;

  std::vector<Hierarchy> hierarchies_;  ///< the first one has cpuset
  KernelFacts facts_;
  CgroupFsOpener open_elsewhere_;
  CgroupResolver resolve_;
  ContainerMap<std::string> adopted_;
  std::map<Controller, std::string> refusals_;  ///< why the kernel did not enable one
};

/// Cgroups::open, after the last directory of `root` is made if it does not exist: nothing else is
/// ever made outside the root.
[[nodiscard]] Result<Cgroups> open_cgroups(const std::string& root,
                                           const CgroupFsWrapper& wrap = {});

/// The same for a caller that only observes: makes nothing, writes nothing and enables no
/// controller. A root that does not exist has no groups, and is not wrapped.
[[nodiscard]] Result<Cgroups> open_cgroups_to_read(const std::string& root,
                                                   const CgroupFsWrapper& wrap = {});

/// cgroup v1 takes a CPU that goes offline out of every group for good: gives the root back those
/// of `needed` that its parent has. Does nothing on cgroup v2.
void restore_root(Cgroups& cgroups, const CpuSet& needed);
/// Removes what interrupted changes have left and what a plan from `before` to `after` does not
/// know of: of the groups that it makes those of cgroup v1 that were never filled, and those that
/// adopted ones have replaced. Their sets would be in the way of those of their pods.
void remove_leftovers(Cgroups& cgroups, const Layout& before, const Layout& after);

}  // namespace pinfold::enforce
