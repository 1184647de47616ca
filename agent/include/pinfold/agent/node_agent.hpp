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

#include "pinfold/agent/measured_container.hpp"
#include "pinfold/agent/node_view.hpp"
#include "pinfold/agent/reconcile_report.hpp"

namespace pinfold::checkpoint {
class Store;
}

namespace pinfold::enforce {
class LiveProcess;
enum class StepMoment;
struct CpuQuota;
struct ForeignSearch;
}  // namespace pinfold::enforce

namespace pinfold::quiet {
struct QuietCpus;
struct QuietDesired;
}  // namespace pinfold::quiet

namespace pinfold::agent {

struct ConfinedNews;

/// Outcome of a removal or start; the change is already durable.
struct ChangeOutcome {
  std::optional<Error> not_enforced;
};

/// Outcome of a resize; the change, if any, is already durable.
struct ResizeOutcome : ChangeOutcome {
  std::optional<NotResized> refused;
  CpuSet before;                    ///< the container's exclusive CPUs; empty: none
  CpuSet after;                     ///< the same after a refusal
  std::optional<Trace> trace = {};  ///< if requested: see verbs::Resize
};

/// Outcome of a reconfiguration; the change is already durable.
struct ReconfigureOutcome : ChangeOutcome {
  /// The containers that were parked or got other NUMA nodes; empty if the agent enforces nothing.
  std::vector<MeasuredContainer> measured;
};

/// A group to adopt for a container; or, for runtimes that make no group per container, the group
/// of a pod's sandbox, for all containers of the pod that have exclusive CPUs. A sandbox gets the
/// CPUs of all of them.
struct AdoptedGroup {
  enforce::GroupName owner;  ///< a container, or the pod of a sandbox
  std::string directory;     ///< see Adoption
};
/// Outcome of the adoption of several groups.
struct GroupsAdopted {
  ChangeOutcome change;
  /// The groups that were not adopted, with the reason.
  std::vector<std::pair<enforce::GroupName, Error>> refused;
};

/// Whether a group may be disowned while processes run in it.
enum class LeftProcesses { kRefuse, kAllow };

/// Whether a reconciliation also moves pages to the desired NUMA nodes.
enum class PageMoves { kOff, kOn };

/// The node agent: decides, commits, applies. It connects the stored state (KeptState) with the
/// control groups (EnforcedLayout). The state on disk leads and the kernel follows: a failure to
/// apply never reverts a decision, and reconcile() applies it later. Thread-safety: none; one
/// caller at a time. The lock of the state directory keeps other processes out.
class NodeAgent : public NodeView {
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
  /// Stores notes of active pods, and ignores those of others; then applies. Errors: those of the
  /// store.
  [[nodiscard]] Result<ChangeOutcome> note(const PodNotes& notes);
  /// Admits a pod, adopts the group of one of its containers and starts that, in one transaction.
  /// The pod then ends with its last adopted container, unless it is admitted again with admit().
  /// If the pod is already active, only adopts the group, which does not change how the pod ends.
  /// Errors: as admit; kNotFound if the pod has no such container; those of
  /// ObservedCgroups::check_adoptable. Then nothing has changed.
  [[nodiscard]] Result<AdmitOutcome> admit_adopted(const PodSpec& pod, const Adoption& adoption);
  /// Adopts groups of active pods in one transaction: maintains their cpusets, and nothing else. If
  /// its runtime does not remove it, a container ends with the last process of its group, or with
  /// the group itself if that is empty now. A group that cannot be adopted does not prevent the
  /// others; its error is kNotFound, or one of ObservedCgroups::check_adoptable.
  /// Errors: kUnsupported if the agent enforces nothing; those of the store. Then nothing has
  /// changed.
  [[nodiscard]] Result<GroupsAdopted> adopt(const std::vector<AdoptedGroup>& groups);
  /// Forgets the adopted group of a container that has ended and may be started again. The
  /// container keeps its resources. If processes may still run there, as in the group of a sandbox,
  /// the caller keeps them off exclusive CPUs.
  /// Errors: kNotFound if it has no adopted group; kBusy if processes run there and `processes`
  /// forbids it; those of the store. Then nothing has changed.
  [[nodiscard]] Result<ChangeOutcome> disown(const ContainerId& container,
                                             LeftProcesses processes = LeftProcesses::kRefuse);
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

  /// Changes the number of exclusive CPUs of a running container; see pinfold::resize. Its CPU
  /// shares and quota follow, unless its group is adopted: its runtime has set those.
  /// Records the reasons in `trace` if it is given.
  /// Errors: those of preview_resize and the store; then nothing has changed.
  [[nodiscard]] Result<ResizeOutcome> resize(const ResizeRequest& request, Trace* trace = nullptr);

  /// Writes the files that show a container its CPUs and memory nodes, and returns the absolute
  /// path of their directory, for a read-only bind mount. They follow every change that is in the
  /// kernel, until the container is removed. See AssignedFiles.
  /// Errors: kNotFound for a container without a group; those of AssignedFiles::publish.
  [[nodiscard]] Result<std::string> publish_assigned(const ContainerId& container);

  /// Removes a container, or a pod (active or held) with all its containers.
  /// Errors: kNotFound; kBusy if processes still run there and `running` forbids killing them, or
  /// they survive; those of the store. Then nothing has changed.
  [[nodiscard]] Result<ChangeOutcome> remove_container(const ContainerId& container,
                                                       RunningProcesses running);
  [[nodiscard]] Result<ChangeOutcome> remove_pod(const PodUid& uid, RunningProcesses running);
  /// Switches to another configuration or machine: commits `next`, the state of the pods on it,
  /// then applies it without a moment of overlap. `next` comes from plan_reconfiguration(), or from
  /// plan_defragmentation() without `to` (the node stays). Removes pods that are missing from
  /// `next`. First applies the current desired state as far as possible, in case an earlier
  /// reconfiguration was interrupted. Errors: kInvalidArgument if no order of steps avoids an
  /// overlap; kBusy if processes of removed pods still run and `running` forbids killing them, or
  /// they survive; kCorrupt if a kubelet on `to` would not start from that state, with its text;
  /// those of the store. Then the node and its state have not changed.
  [[nodiscard]] Result<ReconfigureOutcome> reconfigure(std::optional<Node> to, NodeState next,
                                                       RunningProcesses running);
  /// Releases the resources of held pods (known only from the kubelet's files). The caller asserts
  /// that they no longer run. Errors: those of the store.
  [[nodiscard]] Result<ChangeOutcome> release_unknown();

  /// Restores every value of kept_knobs() that no other program has changed since. The next change
  /// makes CPUs quiet again if AgentOptions::quiet asks for it. Returns what could not be restored;
  /// empty if the agent enforces nothing.
  [[nodiscard]] quiet::QuietReport restore_knobs();

  /// Checkpoints the journal: brings the state files up to date and makes them durable. Until then
  /// commits are durable in the journal, and the files are older. Also stores metrics(). The
  /// destructor checkpoints the journal, too, but cannot report a failure. Errors: kIo; nothing is
  /// lost, and the next call or opening tries again.
  [[nodiscard]] Result<void> checkpoint_journal();
  /// Makes closing leave the journal to the next opening: nothing is synced, and the kubelet's
  /// files stay out of date. Does the same as checkpoint_journal() once the journal has grown, see
  /// checkpoint::Store::leave_journal. Errors: those of checkpoint_journal().
  [[nodiscard]] Result<void> leave_journal();

 private:
  friend class FollowedRuntime;
  friend std::vector<ContainerId> remove_abandoned(NodeAgent& agent);
  friend Result<ReconcileReport> reconcile(NodeAgent& agent, std::optional<PageMoves> pages);
  using NodeView::NodeView;
  /// Asks again whether adopted containers whose groups could not be read have processes
  /// (AgentState::unread). One without processes may have ended, or may not have its first one yet.
  void look_at_unread();
  /// Brings the kernel to the desired state. Idempotent. See agent::reconcile.
  /// Errors: kUnsupported if the agent enforces nothing; kIo if the groups cannot be read.
  [[nodiscard]] Result<ReconcileReport> enforce_again(PageMoves pages);
  [[nodiscard]] Result<void> commit(const std::vector<PodSpec>& pods, Decided& decided,
                                    Unstored unstored = Unstored::kFails);
  /// Commits and measures the time.
  [[nodiscard]] Result<void> store(AgentState next, Unstored unstored = Unstored::kFails);
  /// The pods whose failures concern the caller; nullopt: all.
  using ChangedPods = std::optional<std::set<PodUid>>;
  using StepWatcher = std::function<void(const enforce::Step&, enforce::StepMoment)>;
  /// Commits, then applies.
  [[nodiscard]] Result<ChangeOutcome> change(AgentState next, std::string_view intent,
                                             const ChangedPods& pods);
  [[nodiscard]] std::optional<Error> apply(const ChangedPods& pods,
                                           const StepWatcher& watcher = nullptr);
  [[nodiscard]] ReconfigureOutcome apply_and_measure();
  void open_knobs();
  [[nodiscard]] quiet::QuietLevel quiet_level(const PodUid& pod) const;
  [[nodiscard]] quiet::QuietCpus quiet_cpus(const Desired& desired) const;
  [[nodiscard]] quiet::QuietDesired quiet_desired(const Desired& desired) const;
  void log_unquiet();
  [[nodiscard]] quiet::QuietKnobs* knobs_for(const quiet::QuietDesired& desired);
  /// Brings the files of all published containers up to date. Failures are logged, and tried again
  /// with the next change.
  void update_assigned(const Desired& desired);
  void reset_affinity(const ContainerId& container, std::optional<pid_t> only);
  /// A group that may be adopted, for these containers.
  struct Adoptable {
    std::string directory;  ///< canonical
    std::vector<ContainerId> containers;
  };
  [[nodiscard]] Result<Adoptable> check_container_group(const ContainerId& container,
                                                        const std::string& directory) const;
  [[nodiscard]] Result<Adoptable> check_sandbox(const PodUid& uid,
                                                const std::string& directory) const;
  void note_adopted(AgentState& next, const ContainerId& container, std::string directory) const;
  [[nodiscard]] std::optional<Error> adopt_and_apply(const std::vector<ContainerId>& containers);

  std::set<std::string> runtime_roots_;  ///< where a container runtime has groups
  std::vector<std::string> unquiet_;     ///< what was logged as still using quiet CPUs
};

/// Adopts one group. Errors: those of NodeAgent::adopt for it; then nothing has changed.
[[nodiscard]] Result<ChangeOutcome> adopt(NodeAgent& agent, const AdoptedGroup& group);
/// Calls NodeAgent::attach, and checks that the process id was not reused during the call. Errors:
/// also kNotFound if the process ended during the call.
[[nodiscard]] Result<void> attach(NodeAgent& agent, const ContainerId& container,
                                  const enforce::LiveProcess& process);

}  // namespace pinfold::agent
