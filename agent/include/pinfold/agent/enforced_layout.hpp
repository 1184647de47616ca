#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/log.hpp"
#include "pinfold/agent/process_list.hpp"
#include "pinfold/enforce/affinity.hpp"
#include "pinfold/enforce/apply_plan.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/enforce/foreign.hpp"
#include "pinfold/enforce/page_placement.hpp"

namespace pinfold::agent {

/// What a reconciliation came to.
struct ReconcileReport {
  std::vector<std::string> drift;      ///< what differed, as find_drift names it
  CpuSet overlap;                      ///< exclusive CPUs on which processes of others could run
  enforce::Plan done;                  ///< the steps that were applied
  std::vector<std::string> moved;      ///< processes and pages that were moved back
  std::vector<std::string> remaining;  ///< what still differs, and why
  std::vector<std::string> notes;      ///< what is as desired and may still surprise: CPU affinity
  /// Of these, the containers with fewer or other CPUs than desired because a group above theirs
  /// lacks them: nothing that Pinfold writes ends that.
  std::vector<std::string> narrowed;
};

/// What the kernel has for one container.
struct ObservedContainer {
  CpuSet effective_cpus;
  enforce::NodeSet effective_mems;
  std::size_t processes = 0;
  /// Share of their resident memory on the NUMA nodes that the container may use, 0 to 1.
  double page_placement = 1;
  enforce::Affinity affinity;  ///< empty without a process table
  /// Of its own group, and of the group that this one is in; nullopt: not known.
  std::optional<enforce::CpuQuota> quota;
  std::optional<enforce::CpuQuota> quota_above;
};

enum class RunningProcesses { kRefuse, kKill };

using enforce::StepMoment;
using enforce::StepWatcher;

/// Called before an existing container gets exclusive CPUs that it did not have: confines what only
/// another part of the program knows of to `allowed`, CPUs of the shared pool that are exclusive to
/// no container at this point.
using OthersConfiner = std::function<void(const CpuSet& allowed)>;

/// Who takes part in applying a layout; each may be empty.
struct Participants {
  OthersConfiner confine_others;
  StepWatcher watch;
};

/// The control groups of a node as the kernel has them, and what an agent knows of them: the only
/// part of an agent that touches the kernel. Const functions only read.
class EnforcedLayout {
 public:
  EnforcedLayout(enforce::Cgroups cgroups, ContainerMap<std::string> adopted, LogSink log);

  [[nodiscard]] const enforce::KernelFacts& facts() const { return cgroups_.facts(); }
  /// See Cgroups.
  [[nodiscard]] const std::string& root() const { return cgroups_.root(); }
  [[nodiscard]] std::string_view mode() const { return cgroups_.mode(); }
  [[nodiscard]] std::vector<std::string> warnings() const { return cgroups_.warnings(); }
  /// The absolute directory of a group, also of an adopted one.
  [[nodiscard]] std::string directory(const enforce::GroupName& name) const {
    return cgroups_.directory(name);
  }
  /// The absolute directory of the group that a process is in. Errors: kNotFound.
  [[nodiscard]] Result<std::string> directory_of_process(pid_t process) const;
  /// The groups of a pod that exist, its own first. Errors: kIo.
  [[nodiscard]] Result<std::vector<enforce::GroupName>> groups_of_pod(const PodUid& pod) const {
    return cgroups_.groups_of_pod(pod);
  }
  /// False if a group has no process or does not exist. Errors: kIo.
  [[nodiscard]] Result<bool> has_processes(const enforce::GroupName& name) const;
  /// Checks whether a container may have this group instead of the one that it has, and returns
  /// its canonical directory.
  /// Errors: those of Cgroups::check_adoptable; kBusy if processes run in the one that it has.
  [[nodiscard]] Result<std::string> check_adoptable(const ContainerId& container,
                                                    const std::string& directory) const;
  /// What the kernel has for a container. Errors: kNotFound, kIo.
  [[nodiscard]] Result<ObservedContainer> observe(const ContainerId& container) const;
  /// Where the pages of a container's processes are; empty if it has none, or in a model.
  [[nodiscard]] enforce::PagesByNode pages_of(const ContainerId& container) const;
  /// The CPUs that the root has now. Errors: kIo.
  [[nodiscard]] Result<CpuSet> machine_cpus() const { return cgroups_.machine_cpus(); }
  /// See Cgroups.
  [[nodiscard]] Result<enforce::Group> open_elsewhere(const std::string& directory) const {
    return cgroups_.open_elsewhere(directory);
  }
  /// What is below the root and not Pinfold's. Errors: kIo.
  [[nodiscard]] Result<std::vector<enforce::ForeignGroup>> find_foreign() const {
    return enforce::find_foreign(cgroups_);
  }
  /// How the groups of one pod differ from what is desired, as find_drift names it.
  [[nodiscard]] std::map<enforce::GroupName, std::vector<std::string>> find_drift(
      const enforce::Layout& desired, const PodUid& pod) const;
  /// The CPUs of the nearest group above one: see enforce::cpus_above.
  [[nodiscard]] std::optional<CpuSet> cpus_above(const std::string& directory) const;
  /// "'/sys/fs/cgroup/kubepods/besteffort' has CPUs 0": which group above one lacks some of the
  /// expected CPUs; "": none.
  [[nodiscard]] std::string narrowed_by(const std::string& directory, const CpuSet& expected) const;
  /// The containers that have other CPUs than desired because a group above theirs lacks them, a
  /// sentence for each that names it. Empty for one whose own cpuset differs: that is drift.
  [[nodiscard]] std::vector<std::string> find_narrowed(const Desired& desired) const;
  /// Where the kernel differs from what is desired, what a group above takes from a container, and
  /// what of `foreign` runs on exclusive CPUs. Errors: kIo.
  [[nodiscard]] Result<std::vector<std::string>> find_drift(
      const Desired& desired, const std::vector<enforce::ForeignGroup>& foreign) const;
  /// Reads back that a container with exclusive CPUs has them, and verify_room(). Of any other one:
  /// that it can run on no exclusive CPU; one without a group cannot.
  /// Errors: kNotFound; kBusy if it is not so; kIo.
  [[nodiscard]] Result<void> verify(const Desired& desired, const ContainerId& container) const;
  /// Reads back that no other container and no foreign group can run on the CPUs that are exclusive
  /// to a container. Errors: as above.
  [[nodiscard]] Result<void> verify_room(const Desired& desired,
                                         const ContainerId& container) const;
  /// True if the kernel is known to differ from what is desired.
  [[nodiscard]] bool is_dirty() const { return std::holds_alternative<Dirty>(kernel_); }
  /// The kernel's reason for each container that should be a partition and is none.
  [[nodiscard]] const std::map<enforce::GroupName, std::string>& partition_problems() const {
    return partition_problems_;
  }

  /// Makes the kernel have what is desired, in the safe order: docs/cgroups.md. `pods`: those that
  /// have changed; what fails for others is logged, and left to reconcile(). nullopt: all.
  /// Errors: those of Cgroups::apply for these pods; those of plan; kUnsupported if the root lacks
  /// CPUs, whose containers run on the rest of theirs or in the shared pool. Then, and if anything
  /// but a value could not be written, the layout is dirty: the next call starts from what the
  /// kernel has.
  [[nodiscard]] Result<void> apply(const Desired& desired, const Participants& participants = {},
                                   const std::optional<std::set<PodUid>>& pods = std::nullopt);
  /// Whether an order of steps leads there from the layout without an overlap, once the root has
  /// back what it has lost with CPUs that were offline; a dirty layout is not checked. Errors:
  /// those of plan.
  [[nodiscard]] Result<void> check_reachable(const Desired& desired);
  /// A container was adopted: checks its group, reads what it has, and removes the empty one that
  /// it replaces.
  /// Errors: kNotFound if it does not exist, or is no group with a cpuset.
  [[nodiscard]] Result<void> adopt(const Desired& desired, const ContainerId& container);
  /// Observes everything, and makes it what is desired. Processes of `known` that were moved out of
  /// their group are moved back; `known` becomes what runs where now.
  /// Errors: kIo if the groups cannot be read.
  [[nodiscard]] Result<ReconcileReport> reconcile(const Desired& desired, ProcessList& known,
                                                  const Participants& participants = {});
  /// Moves pages of the containers' processes to the desired NUMA nodes.
  void move_pages(const Desired& desired, ReconcileReport& report);
  /// Moves a process into a group. Errors: kNotFound; kBusy if a process in the group could run on
  /// CPUs that are exclusive to others; kIo.
  [[nodiscard]] Result<void> attach(const Desired& desired, const ContainerId& container,
                                    pid_t process);
  /// Lets the processes of a container, or the `only` one, run on all CPUs of their group. Returns:
  /// those that could not before. Errors: those of enforce::widen_affinities; kNotFound for a group
  /// that does not exist.
  [[nodiscard]] Result<std::vector<pid_t>> widen_affinities(const ContainerId& container,
                                                            std::optional<pid_t> only);
  /// Makes sure that nothing runs in these groups.
  /// Errors: kBusy if processes run there (and are not to be killed, or survive it); kIo.
  [[nodiscard]] Result<void> make_empty(const std::vector<enforce::GroupName>& groups,
                                        RunningProcesses running);

 private:
  struct Unknown {};  ///< nothing was observed yet
  struct Dirty {};    ///< differs from what is desired, or may: observe before anything else
  struct Clean {      ///< the kernel has exactly this; a value that is not here is unknown
    enforce::Layout layout;
  };
  struct Observation {
    bool is_new = false;  ///< what the kernel has now; false: what is known of it
    enforce::Layout layout;
    std::vector<enforce::GroupName> strays;  ///< have processes, belong to no active pod
    std::vector<enforce::ForeignGroup> foreign;
  };

  void log(LogLevel level, const std::string& message) const {
    if (log_) log_(level, message);
  }
  void set_adopted(const ContainerMap<std::string>& adopted);
  [[nodiscard]] std::optional<enforce::CpuQuota> quota_above(const enforce::Group& group) const;
  [[nodiscard]] Result<Observation> observe_all(const Desired& desired) const;
  [[nodiscard]] enforce::Layout with_processes(const enforce::Layout& layout) const;
  void limit_adopted(const Desired& desired, const enforce::Layout& observed,
                     enforce::Layout& layout, bool is_new) const;
  [[nodiscard]] Result<CpuSet> available_cpus(const enforce::Layout& groups,
                                              bool has_partitions) const;
  [[nodiscard]] enforce::Layout reachable(const Desired& desired, const Observation& observed,
                                          const CpuSet& cpus, const CpuSet& missing) const;
  [[nodiscard]] std::map<enforce::GroupName, Error> find_displaced(const Desired& desired,
                                                                   const enforce::Layout& target,
                                                                   const CpuSet& missing) const;
  struct Enforced {
    CpuSet missing;  ///< that are needed and that the root lacks
    /// Containers that have none of their exclusive CPUs, because others have taken these from the
    /// groups above.
    std::map<enforce::GroupName, Error> narrowed;
    enforce::PlanResult result;
    [[nodiscard]] bool is_retried() const;
  };
  [[nodiscard]] Result<Enforced> enforce(const Desired& desired, const Observation& observed,
                                         const Participants& participants);
  void keep(const Observation& observed, enforce::Layout target, const Enforced& enforced);
  [[nodiscard]] Result<CpuSet> effective_above(const std::string& directory) const;
  [[nodiscard]] Result<void> check_exclusive(const Desired& desired,
                                             const enforce::Layout::value_type& own) const;
  [[nodiscard]] CpuSet overlap(const Desired& desired, const Observation& observed) const;
  void confine_foreign(const Desired& desired, const Observation& observed) const;
  [[nodiscard]] Result<void> report(const Desired& desired, const Enforced& enforced,
                                    const std::optional<std::set<PodUid>>& pods) const;

  enforce::Cgroups cgroups_;
  LogSink log_;
  std::variant<Unknown, Dirty, Clean> kernel_;
  std::map<enforce::GroupName, std::string> partition_problems_;
};

}  // namespace pinfold::agent
