#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/agent/admission.hpp"
#include "pinfold/agent/durations.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/agent/measured_steps.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/enforce/live_process.hpp"

namespace pinfold::agent {

/// Outcome of a removal or start; the change is already durable.
struct ChangeOutcome {
  std::optional<Error> not_enforced;
};

/// Outcome of a reconfiguration; the change is already durable.
struct ReconfigureOutcome : ChangeOutcome {
  /// The containers that were parked or got other NUMA nodes; empty if the agent enforces nothing.
  std::vector<MeasuredContainer> measured;
};

/// A group that a container runtime made for a container.
struct Adoption {
  std::string container;
  /// Absolute path in the hierarchy with the cpusets, in any spelling; it is stored in its
  /// canonical form, see enforce::Cgroups::canonical.
  std::string directory;
};

/// A group to adopt, with its container.
struct AdoptedGroup {
  ContainerId container;
  std::string directory;
};
/// Outcome of the adoption of several groups.
struct GroupsAdopted {
  ChangeOutcome change;
  /// The containers whose group was not adopted, with the reason.
  std::vector<std::pair<ContainerId, Error>> refused;
};

/// Whether a reconciliation also moves pages to the desired NUMA nodes.
enum class PageMoves { kOff, kOn };

/// The node agent: decides, commits, applies. It connects the stored state (KeptState) with the
/// control groups (EnforcedLayout). The state on disk leads and the kernel follows: a failure to
/// apply never reverts a decision, and reconcile() applies it later. Const functions change
/// nothing. Thread-safety: none; one caller at a time. The lock of the state directory keeps other
/// processes out.
class NodeAgent {
 public:
  /// Restores and checks the state, like a restarting kubelet. Changes nothing on disk or in the
  /// kernel. Without `cgroups` the agent decides and stores, but enforces nothing. `options` are
  /// those of open_agent, but `store` and `cgroups` are already open; state_dir is only the name of
  /// the directory of `store` in messages. `offline` and `observed`: see KnownMachine.
  /// Errors: those of KeptState::restore.
  [[nodiscard]] static Result<NodeAgent> open(Node node, checkpoint::Store store,
                                              std::optional<enforce::Cgroups> cgroups,
                                              AgentOptions options, CpuSet offline = {},
                                              std::optional<Machine> observed = std::nullopt);

  [[nodiscard]] const Node& node() const { return *node_; }
  /// The node as a shared pointer, for readers that outlive a reconfiguration.
  [[nodiscard]] const std::shared_ptr<const Node>& shared_node() const { return node_; }
  [[nodiscard]] const AgentOptions& options() const { return options_; }
  [[nodiscard]] const AgentState& state() const { return kept_.state(); }
  [[nodiscard]] const Metrics& metrics() const { return kept_.metrics(); }
  [[nodiscard]] const Timings& timings() const { return timings_; }
  /// CPUs of the node that are offline. While there are any, no container gets exclusive CPUs.
  [[nodiscard]] const CpuSet& offline() const { return offline_; }
  /// See KnownMachine.
  [[nodiscard]] const std::optional<Machine>& observed() const { return observed_; }
  /// Returns one sentence per difference between the current machine and the node, to which only a
  /// reconfiguration can adapt, and per kind of memory that is allocated beyond its current size.
  [[nodiscard]] std::vector<std::string> machine_changes() const;
  /// What determined the profile of the node.
  [[nodiscard]] ProfileSource profile_source() const { return options_.profile_source; }
  [[nodiscard]] bool enforces() const { return enforced_.has_value(); }
  /// The control groups; nullptr if the agent enforces nothing.
  [[nodiscard]] const EnforcedLayout* enforced() const { return enforced_ ? &*enforced_ : nullptr; }
  /// Returns the desired state of the kernel.
  [[nodiscard]] Desired desired() const;
  /// Returns the differences of the kernel from the desired state; empty if the agent enforces
  /// nothing. Errors: kIo.
  [[nodiscard]] Result<std::vector<std::string>> find_drift() const;

  /// Sets where a container runtime has groups. From now on those that no container has adopted are
  /// kept off exclusive CPUs. Does nothing if the agent enforces nothing.
  void set_foreign_search(enforce::ForeignSearch search);
  /// Keeps foreign groups off exclusive CPUs now. See EnforcedLayout::confine_foreign.
  /// Errors: kUnsupported if the agent enforces nothing; kIo.
  [[nodiscard]] Result<CpuSet> confine_foreign(const std::string& also = "");
  /// Returns what has happened to foreign groups since the last call.
  [[nodiscard]] std::vector<ConfinedNews> take_news();
  /// Sets the CFS quota of a pod's group that its runtime has made.
  /// Errors: kUnsupported if the agent enforces nothing; kNotFound, kIo.
  [[nodiscard]] Result<void> set_quota(const std::string& directory,
                                       const enforce::CpuQuota& quota);

  /// Admits or rejects a pod, and records the reasons in `trace` if it is given. Rejects a pod that
  /// would need memory that the machine no longer has (machine_changes()).
  /// Errors: those of the store; kUnsupported if a pod would get exclusive CPUs while CPUs are
  /// offline; kBusy if another pod with this UID is active, and one of its containers runs and
  /// would be lost or lose its CPUs: see find_losses(). Then nothing has changed.
  [[nodiscard]] Result<AdmitOutcome> admit(const PodSpec& pod, Trace* trace = nullptr);
  /// Admits or rejects several pods in one transaction: decides them in order, each with its own
  /// answer, commits them together, then applies. Adds one trace per pod to `traces` if it is
  /// given. Errors: as for one pod.
  [[nodiscard]] Result<std::vector<AdmitOutcome>> admit(const std::vector<PodSpec>& pods,
                                                        std::vector<Trace>* traces = nullptr,
                                                        const FromRuntime& shown = {});
  /// Does the same on a copy of the state, and changes nothing. Errors: as admit, except those of the
  /// store.
  [[nodiscard]] Result<Preview> preview(const std::vector<PodSpec>& pods,
                                        std::vector<Trace>* traces = nullptr) const;
  /// Stores a runtime's notes about active pods, if they have changed.
  /// Errors: those of the store; then nothing has changed.
  [[nodiscard]] Result<void> note(const PodNotes& notes);
  /// Admits a pod and adopts the group of one of its containers, in one transaction. The pod then
  /// ends with its last adopted container, unless it is admitted again with admit(). If the pod is
  /// already active, only adopts the group, which does not change how the pod ends.
  /// Errors: as admit; kNotFound if the pod has no such container; those of
  /// EnforcedLayout::check_adoptable. Then nothing has changed.
  [[nodiscard]] Result<AdmitOutcome> admit_adopted(const PodSpec& pod, const Adoption& adoption);
  /// Adopts the group of a container of an active pod: maintains its cpuset, and nothing else.
  /// Errors: kNotFound; kUnsupported if the agent enforces nothing; those of
  /// EnforcedLayout::check_adoptable and of the store. Then nothing has changed.
  [[nodiscard]] Result<ChangeOutcome> adopt(const PodUid& uid, const Adoption& adoption);
  /// Adopts several groups in one transaction. A group that cannot be adopted does not prevent the
  /// others. Errors: kUnsupported if the agent enforces nothing; those of the store. Then nothing
  /// has changed.
  [[nodiscard]] Result<GroupsAdopted> adopt(const std::vector<AdoptedGroup>& groups);
  /// Forgets the adopted group of a container that has ended and may be started again. The
  /// container keeps its resources.
  /// Errors: kNotFound if it has no adopted group; kBusy if processes run there; those of the
  /// store. Then nothing has changed.
  [[nodiscard]] Result<ChangeOutcome> disown(const ContainerId& container);
  /// Adopts the group of a pod's sandbox for all containers of the pod that have exclusive CPUs,
  /// for runtimes that make no group per container. The group gets the CPUs of all of them.
  /// Errors: as adopt; kNotFound if no container of the pod has exclusive CPUs.
  [[nodiscard]] Result<ChangeOutcome> adopt_sandbox(const PodUid& uid,
                                                    const std::string& directory);
  /// Forgets that a container uses the group of its sandbox. Processes may still run there; the
  /// caller keeps them off exclusive CPUs. Errors: kNotFound; those of the store.
  [[nodiscard]] Result<ChangeOutcome> disown_sandbox(const ContainerId& container);
  /// Reads back from the kernel that a container with exclusive CPUs has them, and calls
  /// verify_room(). Reads back that any other container can run on no exclusive CPU.
  /// Errors: kUnsupported if the agent enforces nothing; kNotFound; kBusy if the check fails; kIo.
  [[nodiscard]] Result<void> verify(const ContainerId& container) const;
  /// Reads back that no other container and nothing else below the root can run on the exclusive
  /// CPUs of a container, which need not have a group yet. Errors: as verify.
  [[nodiscard]] Result<void> verify_room(const ContainerId& container) const;
  /// Prepares for the start of a container: releases what its predecessors no longer need, and
  /// makes its group.
  /// Errors: kNotFound; those of the store.
  [[nodiscard]] Result<ChangeOutcome> start(const ContainerId& container);
  /// Resets the CPU affinity of the processes in the group of a container whose program does not
  /// run yet. Failures are only logged. Does nothing without AgentOptions::reset_affinity.
  void reset_affinity(const ContainerId& container) { reset_affinity(container, std::nullopt); }
  /// Moves a process into the group of an active pod's container, and resets its CPU affinity as
  /// reset_affinity does.
  /// Errors: kUnsupported if the agent enforces nothing; kNotFound; kBusy if the group has CPUs
  /// that are exclusive to others; kIo.
  [[nodiscard]] Result<void> attach(const ContainerId& container, pid_t process);
  /// Does the same, and checks that the process id was not reused meanwhile.
  /// Errors: also kNotFound if the process ended meanwhile.
  [[nodiscard]] Result<void> attach(const ContainerId& container,
                                    const enforce::LiveProcess& process);

  /// Removes a container, or a pod (active or held) with all its containers.
  /// Errors: kNotFound; kBusy if processes still run there and `running` forbids killing them, or
  /// they survive; those of the store. Then nothing has changed.
  [[nodiscard]] Result<ChangeOutcome> remove_container(const ContainerId& container,
                                                       RunningProcesses running);
  [[nodiscard]] Result<ChangeOutcome> remove_pod(const PodUid& uid, RunningProcesses running);
  /// Switches to another configuration or machine: commits `next`, the state of the pods on it,
  /// then applies it without a moment of overlap. `next` comes from plan_reconfiguration(). Removes
  /// pods that are missing from `next`. First applies the current desired state as far as possible,
  /// in case an earlier reconfiguration was interrupted.
  /// Errors: kInvalidArgument if no order of steps avoids an overlap; kBusy if processes of removed
  /// pods still run and `running` forbids killing them, or they survive; kCorrupt if a kubelet on
  /// `to` would not start from that state, with its text; those of the store. Then the node and its
  /// state have not changed.
  [[nodiscard]] Result<ReconfigureOutcome> reconfigure(Node to, NodeState next,
                                                       RunningProcesses running);
  /// Does the same on the same node, with `next` from plan_defragmentation(): every pod stays.
  /// Errors: as above, except kBusy.
  [[nodiscard]] Result<ReconfigureOutcome> reconfigure(NodeState next);
  /// The node before the last reconfiguration of this state directory.
  [[nodiscard]] const std::optional<EarlierNode>& before() const { return kept_.before(); }
  /// Releases the resources of held pods (known only from the kubelet's files). The caller asserts
  /// that they no longer run. Errors: those of the store.
  [[nodiscard]] Result<ChangeOutcome> release_unknown();
  /// Removes a container whose group was adopted, and its pod if the pod ends with it. If processes
  /// run in other groups of the pod, the pod stays until remove_abandoned().
  /// Errors: as remove_container.
  [[nodiscard]] Result<ChangeOutcome> remove_adopted(const ContainerId& container,
                                                     RunningProcesses running);
  /// Does the same for every adopted container without a process: its runtime died without removing
  /// it. With Abandoned::kDisown, containers whose pods do not end with them are disowned instead.
  /// Returns the removed containers; a failure of one does not stop the others.
  [[nodiscard]] std::vector<ContainerId> remove_abandoned();

  /// Brings the kernel to the desired state, and removes abandoned containers. Idempotent.
  /// Errors: kUnsupported if the agent enforces nothing; kIo if the groups cannot be read.
  [[nodiscard]] Result<ReconcileReport> reconcile() {
    return reconcile(options_.move_pages ? PageMoves::kOn : PageMoves::kOff);
  }
  /// Does the same with `pages` instead of AgentOptions::move_pages.
  [[nodiscard]] Result<ReconcileReport> reconcile(PageMoves pages);

  /// Checkpoints the journal: brings the state files up to date and makes them durable. Until then
  /// commits are durable in the journal, and the files are older. Also stores metrics(). The
  /// destructor checkpoints the journal, too, but cannot report a failure. Errors: kIo; nothing is
  /// lost, and the next call or opening tries again.
  [[nodiscard]] Result<void> checkpoint_journal() { return kept_.checkpoint_journal(); }

 private:
  struct Decided;
  using Clock = std::chrono::steady_clock;
  NodeAgent(Node node, KeptState kept, std::optional<EnforcedLayout> enforced, AgentOptions options,
            CpuSet offline, std::optional<Machine> observed)
      : node_(std::make_shared<const Node>(std::move(node))),
        kept_(std::move(kept)),
        enforced_(std::move(enforced)),
        options_(std::move(options)),
        offline_(std::move(offline)),
        observed_(std::move(observed)) {}
  void log(LogLevel level, const std::string& message) const {
    if (options_.log) options_.log(level, message);
  }
  [[nodiscard]] Clock::time_point now() const {
    return options_.now ? options_.now() : Clock::now();
  }
  [[nodiscard]] Result<Decided> decide_all(const std::vector<PodSpec>& pods,
                                           std::vector<Trace>* traces,
                                           const FromRuntime& shown = {}) const;
  [[nodiscard]] Result<Decided> decide_checked(const std::vector<PodSpec>& pods,
                                               std::vector<Trace>* traces,
                                               const FromRuntime& shown) const;
  [[nodiscard]] Result<std::string> directory_to_adopt(const PodSpec& pod,
                                                       const Adoption& adoption) const;
  [[nodiscard]] Result<bool> has_other_processes(const ContainerId& container) const;
  void end_pods();
  [[nodiscard]] Result<void> check_forgotten(const AgentState& next) const;
  [[nodiscard]] Result<void> check_replaced(const std::vector<PodSpec>& pods,
                                            const AgentState& next) const;
  [[nodiscard]] bool runs(const ContainerId& container) const;
  [[nodiscard]] Result<void> commit(const std::vector<PodSpec>& pods, Decided& decided,
                                    Unstored unstored = Unstored::kFails);
  /// Commits and measures the time.
  [[nodiscard]] Result<void> store(AgentState next, Unstored unstored = Unstored::kFails);
  /// The pods whose failures concern the caller; nullopt: all.
  using ChangedPods = std::optional<std::set<PodUid>>;
  /// Commits, then applies.
  [[nodiscard]] Result<ChangeOutcome> change(AgentState next, std::string_view intent,
                                             const ChangedPods& pods);
  [[nodiscard]] std::optional<Error> apply(const ChangedPods& pods,
                                           const StepWatcher& watcher = nullptr);
  /// Returns whether a container runtime is followed.
  [[nodiscard]] bool has_runtime() const { return enforced_ && enforced_->has_foreign_search(); }
  [[nodiscard]] ReconfigureOutcome apply_and_measure();
  [[nodiscard]] Result<ReconfigureOutcome> go_on(std::shared_ptr<const Node> to, NodeState next,
                                                 RunningProcesses running);
  void reset_affinity(const ContainerId& container, std::optional<pid_t> only);
  [[nodiscard]] std::optional<Error> adopt_and_apply(const ContainerId& container);

  std::shared_ptr<const Node> node_;
  KeptState kept_;
  std::optional<EnforcedLayout> enforced_;
  AgentOptions options_;
  CpuSet offline_;
  std::optional<Machine> observed_;  ///< see KnownMachine
  enforce::Layout earlier_;          ///< see Desired
  Timings timings_;
};

}  // namespace pinfold::agent
