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

/// One hierarchy, opened at the root directory.
struct Hierarchy {
  HierarchyRoot root;
  std::unique_ptr<CgroupFs> fs;
};

/// Wraps the file system of a hierarchy, for callers that intercept its writes.
using CgroupFsWrapper =
    std::function<std::unique_ptr<CgroupFs>(std::unique_ptr<CgroupFs>, const HierarchyRoot&)>;

/// Opens a directory of the cpuset hierarchy that is not below the root.
using CgroupFsOpener =
    std::function<Result<std::unique_ptr<CgroupFs>>(const std::string& directory)>;

/// Maps any spelling of a directory to its one name in the mount of the cpuset hierarchy.
using CgroupResolver =
    std::function<Result<std::string>(const std::string& directory, const HierarchyRoot& cpusets)>;

/// Resolves a directory of the running kernel: "..", "//", symbolic links, /proc/self/root and
/// other mounts of the hierarchy. Checks by device and inode that both names mean the same group.
/// Domain: `directory` is absolute.
/// Errors: kInvalidArgument if the directory is not in this hierarchy or cannot be reached through
/// the mount of `cpusets`; those of open_named_cgroup_fs.
[[nodiscard]] Result<std::string> canonical_directory(const std::string& directory,
                                                      const HierarchyRoot& cpusets);

/// Returns the root to use if none is given: "pinfold" at the mount of the cpuset controller, as
/// libcgroup finds it.
/// Errors: kUnsupported if the controller is not mounted, or libcgroup is not installed.
/// Thread-safety: none; libcgroup keeps process-wide tables.
[[nodiscard]] Result<std::string> default_root();

/// The control groups below a root, with one interface for cgroup v1, v2 and both (hybrid). Opens
/// and observes them, and applies the steps of a plan. Writes nothing outside the root except the
/// cpusets of adopted and of foreign groups; EnforcedLayout::set_quota also writes the CFS quota of
/// a pod's group that a runtime has made. A const one hands out only readers. Every written value
/// is read back, and the effective sets show whether it took effect: docs/cgroups.md.
/// Thread-safety: none; one user at a time.
class Cgroups {
 public:
  /// Detects the hierarchies of `root` (an existing directory in a cgroup mount), opens them, and
  /// enables the controllers for the groups below it. All access below the root goes through the
  /// file systems that `wrap` returns; an empty `wrap` changes nothing.
  /// Errors: kInvalidArgument, kUnsupported (see locate), kNotFound, kIo.
  [[nodiscard]] static Result<Cgroups> open(const std::string& root,
                                            const CgroupFsWrapper& wrap = {});
  /// Like open(), with hierarchies that are already open. The first one must have cpuset.
  [[nodiscard]] static Result<Cgroups> make(std::vector<Hierarchy> hierarchies, KernelFacts facts,
                                            CgroupFsOpener open_elsewhere = open_named_cgroup_fs,
                                            CgroupResolver resolve = canonical_directory);

  /// Like make(), for callers that only observe: enables no controller.
  [[nodiscard]] static Cgroups make_to_read(std::vector<Hierarchy> hierarchies, KernelFacts facts);

  [[nodiscard]] const KernelFacts& facts() const { return facts_; }
  /// Returns the root directory in the cpuset hierarchy.
  [[nodiscard]] const std::string& root() const { return hierarchies_.front().root.directory; }
  /// Returns "v2", "v1" or "hybrid".
  [[nodiscard]] std::string_view mode() const;
  /// Returns "controller 'memory' is not available below '/sys/fs/cgroup/x': ..." for each missing
  /// controller, with the kernel's reason if it refused to enable it.
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// Sets the containers whose group was made by a container runtime, each with its absolute
  /// directory. Only the cpuset of such a group is written; the group is never created or removed.
  void set_adopted(ContainerMap<std::string> adopted) { adopted_ = std::move(adopted); }
  [[nodiscard]] const ContainerMap<std::string>& adopted() const { return adopted_; }
  /// Returns the canonical name of a group, however `directory` spells it. Errors: as
  /// CgroupResolver.
  [[nodiscard]] Result<std::string> canonical(const std::string& directory) const {
    return resolve_(directory, hierarchies_.front().root);
  }
  /// Checks whether a container may adopt this group, and returns its canonical directory.
  /// Errors: kInvalidArgument if the directory is not in the cpuset hierarchy; contains the root or
  /// the groups of all pods; is a pod's group below the root or lies in that of another pod; or is,
  /// contains or lies in a group that another container has adopted. kNotFound if it does not exist
  /// or has no cpuset.
  [[nodiscard]] Result<std::string> check_adoptable(const ContainerId& container,
                                                    const std::string& directory) const;
  [[nodiscard]] bool is_adopted(const GroupName& name) const {
    return !name.is_pod() && adopted_.contains(name.id());
  }

  /// Returns the absolute directory of a group in the cpuset hierarchy; it need not exist.
  [[nodiscard]] std::string directory(const GroupName& name) const;
  /// Returns the handle of a group, writable only if the cgroups may be changed; a group below the
  /// root need not exist.
  /// Errors: kInvalidArgument for an invalid name; kNotFound if an adopted group does not exist or
  /// has no cpuset.
  [[nodiscard]] Result<Group> group(const GroupName& name) { return find(name); }
  [[nodiscard]] Result<GroupReader> group(const GroupName& name) const { return find(name); }
  [[nodiscard]] Group root_group() { return find_root(); }
  [[nodiscard]] GroupReader root_group() const { return find_root(); }
  /// Returns the handle of a group that is not Pinfold's, in the cpuset hierarchy; the group may
  /// have no cpuset. Errors: kNotFound if it does not exist; kInvalidArgument if it is not a
  /// control group.
  [[nodiscard]] Result<Group> open_elsewhere(const std::string& directory) {
    return open_other(directory);
  }
  [[nodiscard]] Result<GroupReader> open_elsewhere(const std::string& directory) const {
    return open_other(directory);
  }
  /// Returns the existing groups of a pod: first its own, then its containers', including adopted
  /// ones.
  /// Errors: kIo.
  [[nodiscard]] Result<std::vector<GroupName>> groups_of_pod(const PodUid& pod) const;
  /// Removes a container's group below the root after it has adopted another one, if it is empty.
  void remove_replaced(const ContainerId& container);

  /// Return the CPUs and NUMA nodes of the root. Errors: kIo.
  [[nodiscard]] Result<CpuSet> machine_cpus() const;
  /// Returns machine_cpus() and the CPUs of `groups`: cgroup v2 takes the CPUs of a partition away
  /// from the groups above it. Errors: kIo.
  [[nodiscard]] Result<CpuSet> cpus_with_partitions(const Layout& groups) const;
  [[nodiscard]] Result<NodeSet> machine_mems() const;

  /// Applies one step and checks its effect: reads each value back; the effective CPUs of a
  /// container must be within the set that was written.
  /// Errors: kIo; kBusy if a group to remove has processes; kUnsupported if the kernel changed the
  /// written value.
  [[nodiscard]] Result<void> apply(const Step& step);

  /// Reads the kernel's layout: every pod and container group below the root and every existing
  /// adopted group, with the files that `desired` names for it. Where `desired` has no set, a set
  /// equal to the parent's counts as none. A group with the desired CPUs counts as having the
  /// desired isolation, any other as shared. A group that cannot be read gets the reason as its
  /// `problem`.
  /// Errors: kIo if the groups below the root cannot be listed.
  [[nodiscard]] Result<Layout> observe(const Layout& desired) const;
  /// Observes the groups of one pod.
  [[nodiscard]] Layout observe_pod(const PodUid& pod, const Layout& desired) const;
  /// Observes one adopted group; nullopt if it does not exist.
  [[nodiscard]] Result<std::optional<GroupSettings>> observe_adopted(
      const GroupName& name, const GroupSettings& desired) const;

 private:
  Cgroups() = default;
  [[nodiscard]] Result<void> apply_foreign(const Step& step);
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<bool> make_usable(const Hierarchy& hierarchy, Controller controller);
  [[nodiscard]] const std::string* find_adopted(const GroupName& name) const;
  [[nodiscard]] Result<Group> find(const GroupName& name) const;
  [[nodiscard]] Group find_root() const;
  [[nodiscard]] Result<Group> open_other(const std::string& directory) const;
  [[nodiscard]] Result<Group> open_adopted(const GroupName& name,
                                           const std::string& directory) const;
  [[nodiscard]] Result<Group> own_group(const GroupName& name) const;

  std::vector<Hierarchy> hierarchies_;  ///< the first one has cpuset
  KernelFacts facts_;
  CgroupFsOpener open_elsewhere_;
  CgroupResolver resolve_;
  ContainerMap<std::string> adopted_;
  std::map<Controller, std::string> refusals_;  ///< why the kernel refused a controller
};

/// Calls Cgroups::open(), but first creates the last directory of `root` if it does not exist.
/// Nothing else is ever created outside the root.
[[nodiscard]] Result<Cgroups> open_cgroups(const std::string& root,
                                           const CgroupFsWrapper& wrap = {});

/// Does the same for callers that only observe: creates nothing, writes nothing and enables no
/// controller. A root that does not exist has no groups and is not wrapped.
[[nodiscard]] Result<Cgroups> open_cgroups_to_read(const std::string& root,
                                                   const CgroupFsWrapper& wrap = {});

/// cgroup v1 removes a CPU that goes offline from every group permanently. Restores in the root
/// those CPUs of `needed` that its parent has. Does nothing on cgroup v2.
void restore_root(Cgroups& cgroups, const CpuSet& needed);
/// Removes leftovers of interrupted changes that a plan from `before` to `after` does not cover:
/// cgroup v1 groups that the plan creates but that were never filled, and groups that were replaced
/// by adopted ones. Their sets would be in the way of their pods' sets.
void remove_leftovers(Cgroups& cgroups, const Layout& before, const Layout& after);

}  // namespace pinfold::enforce
