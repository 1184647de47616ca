#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/agent/confined_groups.hpp"
#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/log.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/agent/process_list.hpp"
#include "pinfold/agent/reconcile_report.hpp"
#include "pinfold/enforce/apply_plan.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/enforce/foreign.hpp"

namespace pinfold::agent {

using enforce::StepMoment;
using enforce::StepWatcher;

/// The control groups of a node, and an agent's knowledge of their contents. The only part of an
/// agent that writes to the kernel.
class EnforcedLayout : private ObservedCgroups {
 public:
  /// `former_pool`: see ConfinedGroups.
  EnforcedLayout(enforce::Cgroups cgroups, ContainerMap<std::string> adopted, LogSink log,
                 CpuSet former_pool = {});

  /// Returns the groups, for reading only.
  [[nodiscard]] const ObservedCgroups& observed() const { return *this; }
  /// Returns true if the kernel is known to differ from the desired state.
  [[nodiscard]] bool is_dirty() const { return std::holds_alternative<Dirty>(kernel_); }
  /// Returns the kernel's reason for each container that should be a partition but is not.
  [[nodiscard]] const std::map<enforce::GroupName, std::string>& partition_problems() const {
    return partition_problems_;
  }

  /// Brings the kernel to the desired state, in the safe order: docs/cgroups.md. `pods`: the pods
  /// that have changed; failures of other pods are logged and left to reconcile(). nullopt: all.
  /// Errors: those of Cgroups::apply for these pods; those of plan; kUnsupported if the root does
  /// not have all CPUs; the containers concerned then run on their remaining CPUs or in the shared
  /// pool. After kUnsupported, or if a write other than of a value failed, the layout is dirty: the
  /// next call observes the kernel first.
  [[nodiscard]] Result<void> apply(const Desired& desired, const StepWatcher& watch = {},
                                   const std::optional<std::set<PodUid>>& pods = std::nullopt);
  /// Restores CPUs that the root lost while they were offline, then checks that some order of steps
  /// leads to the desired layout without an overlap. Does nothing if the layout is dirty or
  /// unknown. Errors: those of plan.
  [[nodiscard]] Result<void> check_reachable(const Desired& desired);
  /// Starts to manage a newly adopted group: checks it, reads its settings, and removes the empty
  /// group that it replaces.
  /// Errors: kNotFound if it does not exist, or is not a group with a cpuset.
  [[nodiscard]] Result<void> adopt(const Desired& desired, const ContainerId& container);
  /// Observes everything and brings it to the desired state. Moves processes of `known` that left
  /// their group back to it, and updates `known` to the current processes.
  /// Errors: kIo if the groups cannot be read.
  [[nodiscard]] Result<ReconcileReport> reconcile(const Desired& desired, ProcessList& known);

  /// Sets where a container runtime has groups: every apply() and reconcile() keeps those that no
  /// container has adopted off exclusive CPUs.
  void set_foreign_search(enforce::ForeignSearch search) {
    confined_.set_search(std::move(search));
  }
  /// Returns whether a container runtime is followed.
  [[nodiscard]] bool has_foreign_search() const { return confined_.follows_runtime(); }
  /// Confines foreign groups now, and the group `also`, even if it has no processes yet. Returns
  /// the exclusive CPUs on which some can still run. Errors: kIo.
  [[nodiscard]] Result<CpuSet> confine_foreign(const Desired& desired, const std::string& also);
  /// Returns what has happened to foreign groups since the last call.
  [[nodiscard]] std::vector<ConfinedNews> take_news() { return std::exchange(news_, {}); }
  /// Sets the CFS quota of a pod's group that its runtime has made. The only write that is not a
  /// step of a plan: it changes no CPUs, so it needs no order (docs/adr/0030). Errors: kNotFound,
  /// kIo.
  [[nodiscard]] Result<void> set_quota(const std::string& directory,
                                       const enforce::CpuQuota& quota);
  /// Moves pages of the containers' processes to the desired NUMA nodes.
  void move_pages(const Desired& desired, ReconcileReport& report);
  /// Moves a process into a group. Errors: kNotFound; kBusy if a process in the group could run on
  /// CPUs that are exclusive to others; kIo.
  [[nodiscard]] Result<void> attach(const Desired& desired, const ContainerId& container,
                                    pid_t process);
  /// Lets the processes of a container, or only the process `only`, run on all CPUs of their group.
  /// Returns those that could not before. Errors: those of enforce::widen_affinities; kNotFound if
  /// the group does not exist.
  [[nodiscard]] Result<std::vector<pid_t>> widen_affinities(const ContainerId& container,
                                                            std::optional<pid_t> only);
  /// Makes sure that no process runs in these groups.
  /// Errors: kBusy if processes run there and `running` forbids killing them, or they survive; kIo.
  [[nodiscard]] Result<void> make_empty(const std::vector<enforce::GroupName>& groups,
                                        RunningProcesses running);

 private:
  struct Unknown {};  ///< nothing was observed yet
  struct Dirty {};    ///< differs from the desired state, or may: observe before anything else
  struct Clean {      ///< the kernel has exactly this layout; a missing value is unknown
    enforce::Layout layout;
  };
  struct Observation {
    bool is_new = false;  ///< true if just read from the kernel, false if from memory
    enforce::Layout layout;
    std::vector<enforce::GroupName> strays;  ///< have processes, belong to no active pod
    std::vector<enforce::ForeignGroup> foreign;
  };

  void log(LogLevel level, const std::string& message) const {
    if (log_) log_(level, message);
  }
  void set_adopted(const ContainerMap<std::string>& adopted);
  [[nodiscard]] bool needs_look(const enforce::Layout& before, const Desired& desired) const;
  [[nodiscard]] Result<Observation> observe_all(const Desired& desired);
  [[nodiscard]] enforce::Layout with_processes(const enforce::Layout& layout) const;
  [[nodiscard]] Result<CpuSet> available_cpus(const enforce::Layout& groups,
                                              bool has_partitions) const;
  [[nodiscard]] enforce::Layout reachable(const Desired& desired, const Observation& observed,
                                          const CpuSet& cpus, const CpuSet& missing) const;
  [[nodiscard]] CpuSet lost_above(const enforce::Layout& before, const enforce::Layout& target,
                                  const CpuSet& cpus) const;
  [[nodiscard]] std::map<enforce::GroupName, Error> find_displaced(const Desired& desired,
                                                                   const enforce::Layout& target,
                                                                   const CpuSet& missing) const;
  struct Enforced {
    CpuSet missing;  ///< needed CPUs that the root does not have
    /// Containers that have none of their exclusive CPUs, because another program took these from
    /// the groups above.
    std::map<enforce::GroupName, Error> narrowed;
    enforce::PlanResult result;
    [[nodiscard]] bool is_retried() const;
  };
  [[nodiscard]] Result<Enforced> enforce(const Desired& desired, const Observation& observed,
                                         const StepWatcher& watch);
  void keep(const Observation& observed, enforce::Layout target, const Enforced& enforced);
  [[nodiscard]] CpuSet overlap(const Desired& desired, const Observation& observed) const;
  [[nodiscard]] Result<std::vector<enforce::ForeignGroup>> observe_foreign(
      const Desired& desired, const enforce::Layout& observed);
  [[nodiscard]] std::vector<enforce::ForeignGroup> below_root(
      std::vector<enforce::ForeignGroup> groups) const;
  [[nodiscard]] enforce::ForeignGroups to_confine(const Desired& desired,
                                                  std::vector<enforce::ForeignGroup> groups,
                                                  const CpuSet& cpus) const;
  void learn(const enforce::PlanResult& result, const enforce::ForeignGroups& foreign,
             bool has_followed);
  [[nodiscard]] Result<void> report(const Desired& desired, const Enforced& enforced,
                                    const std::optional<std::set<PodUid>>& pods) const;

  LogSink log_;
  std::variant<Unknown, Dirty, Clean> kernel_;
  std::map<enforce::GroupName, std::string> partition_problems_;
  ConfinedGroups confined_;
  std::vector<ConfinedNews> news_;
};

}  // namespace pinfold::agent
