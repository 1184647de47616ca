#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/observed_container.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/enforce/foreign.hpp"
#include "pinfold/enforce/narrowed.hpp"
#include "pinfold/enforce/page_placement.hpp"

namespace pinfold::agent {

/// The control groups of a node, to read and to compare with the desired state. Changes nothing.
class ObservedCgroups {
 public:
  [[nodiscard]] const enforce::KernelFacts& facts() const { return cgroups_.facts(); }
  /// See Cgroups.
  [[nodiscard]] const std::string& root() const { return cgroups_.root(); }
  [[nodiscard]] std::string_view mode() const { return cgroups_.mode(); }
  [[nodiscard]] std::vector<std::string> warnings() const { return cgroups_.warnings(); }
  /// Returns the absolute directory of a group, which may be an adopted one.
  [[nodiscard]] std::string directory(const enforce::GroupName& name) const {
    return cgroups_.directory(name);
  }
  /// Returns the absolute directory of a process's group. Errors: kNotFound.
  [[nodiscard]] Result<std::string> directory_of_process(pid_t process) const;
  /// Returns the existing groups of a pod, its own first. Errors: kIo.
  [[nodiscard]] Result<std::vector<enforce::GroupName>> groups_of_pod(const PodUid& pod) const {
    return cgroups_.groups_of_pod(pod);
  }
  /// Returns false if a group has no process or does not exist. Errors: kIo.
  [[nodiscard]] Result<bool> has_processes(const enforce::GroupName& name) const;
  /// Returns whether a group exists. Errors: kIo.
  [[nodiscard]] Result<bool> has_group(const enforce::GroupName& name) const;
  /// See enforce::HierarchyRoot.
  [[nodiscard]] bool lists_all_processes() const;
  /// Checks whether this group may replace the container's current one, and returns its canonical
  /// directory.
  /// Errors: those of Cgroups::check_adoptable; kBusy if processes run in the current one.
  [[nodiscard]] Result<std::string> check_adoptable(const ContainerId& container,
                                                    const std::string& directory) const;
  /// Reads the settings and processes of a container from the kernel. Errors: kNotFound, kIo.
  [[nodiscard]] Result<ObservedContainer> observe(const ContainerId& container) const;
  /// Returns on which NUMA nodes the pages of a container's processes are; empty if it has none, or
  /// if the cgroups are a model.
  [[nodiscard]] enforce::PagesByNode pages_of(const ContainerId& container) const;
  /// Returns the current CPUs of the root. Errors: kIo.
  [[nodiscard]] Result<CpuSet> machine_cpus() const { return cgroups_.machine_cpus(); }
  /// Opens any group of the cpuset hierarchy to read it. Errors: as Cgroups::open_elsewhere.
  [[nodiscard]] Result<enforce::GroupReader> reader(const std::string& directory) const {
    return cgroups_.open_elsewhere(directory);
  }
  /// Returns the groups below the root that are not Pinfold's. Errors: kIo.
  [[nodiscard]] Result<std::vector<enforce::ForeignGroup>> find_foreign() const {
    return enforce::find_foreign(cgroups_);
  }
  /// Returns the drift of each group of one pod, worded as in find_drift.
  [[nodiscard]] std::map<enforce::GroupName, std::vector<std::string>> find_drift(
      const enforce::Layout& desired, const PodUid& pod) const;
  /// Returns the CPUs of the nearest group above this one: see enforce::cpus_above.
  [[nodiscard]] std::optional<CpuSet> cpus_above(const std::string& directory) const;
  /// Names the group above this one that does not have all the expected CPUs:
  /// "'/sys/fs/cgroup/kubepods/besteffort' has CPUs 0"; "" if there is none.
  [[nodiscard]] std::string narrowed_by(const std::string& directory, const CpuSet& expected) const;
  /// Returns one sentence per difference from the desired state, per container narrowed by a group
  /// above, and per group of `foreign` that runs on exclusive CPUs. Errors: kIo.
  [[nodiscard]] Result<std::vector<std::string>> find_drift(
      const Desired& desired, const std::vector<enforce::ForeignGroup>& foreign) const;
  /// Reads back that a container with exclusive CPUs has them, and calls verify_room(). Reads back
  /// that any other container can run on no exclusive CPU; one without a group passes.
  /// Errors: kNotFound; kBusy if the check fails; kIo.
  [[nodiscard]] Result<void> verify(const Desired& desired, const ContainerId& container) const;
  /// Reads back that no other container and no foreign group can run on the CPUs that are exclusive
  /// to a container. Errors: as above.
  [[nodiscard]] Result<void> verify_room(const Desired& desired,
                                         const ContainerId& container) const;
  /// Checks that no process runs in these groups. Errors: kBusy if one does; kIo.
  [[nodiscard]] Result<void> check_empty(const std::vector<enforce::GroupName>& groups) const;

 protected:
  ObservedCgroups(enforce::Cgroups cgroups, ContainerMap<std::string> adopted);

  /// Returns one sentence per container whose CPUs differ from the desired ones because a group
  /// above, which the sentence names, does not have them. A container whose own cpuset differs is
  /// left out: that is drift.
  [[nodiscard]] std::vector<std::string> find_narrowed(const Desired& desired) const;
  void limit_adopted(const Desired& desired, const enforce::Layout& observed,
                     enforce::Layout& layout, bool is_new) const;

  enforce::Cgroups cgroups_;

 private:
  [[nodiscard]] std::optional<enforce::CpuQuota> quota_above(
      const enforce::GroupReader& group) const;
  [[nodiscard]] Result<CpuSet> effective_above(const std::string& directory) const;
  [[nodiscard]] bool has_in_kernel(const enforce::GroupName& name, const CpuSet& cpus) const;
  [[nodiscard]] Result<void> check_exclusive(const Desired& desired,
                                             const enforce::Layout::value_type& own) const;
};

/// Returns "'/sys/fs/cgroup/kubepods' has CPUs 0-3", and which group is a partition.
[[nodiscard]] std::string describe(const enforce::NarrowGroup& group);

/// Adds foreign groups whose processes run on exclusive CPUs or cannot be read.
void add_foreign_drift(const std::vector<enforce::ForeignGroup>& foreign, const Desired& desired,
                       std::vector<std::string>& lines);

}  // namespace pinfold::agent
