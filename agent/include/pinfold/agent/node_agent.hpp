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

#include "pinfold/agent/durations.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/agent/measured_steps.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/decide/keep.hpp"
#include "pinfold/enforce/live_process.hpp"

namespace pinfold::agent {

/// The answer to one pod: admitted unless there is a rejection.
struct AdmitOutcome {
  std::optional<Rejection> rejection;
  /// Admitted and durable, but the kernel does not have it yet; reconcile() tries again.
  std::optional<Error> not_enforced;
};

/// What a container runtime has shown of the pods that are admitted.
struct FromRuntime {
  PodNotes notes;
  std::map<PodUid, Places> places;  ///< of containers that run already: they keep what they can
  Unstored unstored = Unstored::kFails;
};

/// What a removal or start came to; it is durable.
struct ChangeOutcome {
  std::optional<Error> not_enforced;
};

/// What a reconfiguration came to; it is durable.
struct ReconfigureOutcome : ChangeOutcome {
  /// The containers that were parked or got other NUMA nodes; none if the agent enforces nothing.
  std::vector<MeasuredContainer> measured;
};

/// The group that a container runtime made for a container.
struct Adoption {
  std::string container;
  /// Absolute, in the hierarchy with the cpusets, in any spelling: it is kept under its canonical
  /// one, see enforce::Cgroups::canonical.
  std::string directory;
};

/// The same of several pods.
struct AdoptedGroup {
  ContainerId container;
  std::string directory;
};
/// What the adoption of several groups came to.
struct GroupsAdopted {
  ChangeOutcome change;
  /// The containers whose group was not adopted, and why.
  std::vector<std::pair<ContainerId, Error>> refused;
};

/// Whether a reconciliation also moves pages to the desired NUMA nodes.
enum class PageMoves { kOff, kOn };

/// The node agent: decides, commits, applies. It ties together what is kept (KeptState) and what is
/// enforced (EnforcedLayout). The state on disk leads and the kernel follows: what cannot be
/// applied never takes a decision back, and reconcile() finishes it. Const functions change
/// nothing. Thread-safety: none; one caller at a time. Another process is kept out by the lock of
/// the state directory.
class NodeAgent {
 public:
  /// Starts as the kubelet restarts: restores and checks the state. Changes nothing on disk or in
  /// the kernel. Without `cgroups` it decides and stores, and enforces nothing. Of `options`:
  /// state_dir (what messages call the directory of `store`), dry_run, move_pages, log, now.
  /// `offline` and `observed`: see KnownMachine.
  /// Errors: those of KeptState::restore.
  [[nodiscard]] static Result<NodeAgent> open(Node node, checkpoint::Store store,
                                              std::optional<enforce::Cgroups> cgroups,
                                              AgentOptions options, CpuSet offline = {},
                                              std::optional<Machine> observed = std::nullopt);

  [[nodiscard]] const Node& node() const { return *node_; }
  /// The same, for who reads it also after a reconfiguration has put another one in its place.
  [[nodiscard]] const std::shared_ptr<const Node>& shared_node() const { return node_; }
  [[nodiscard]] const AgentOptions& options() const { return options_; }
  [[nodiscard]] const AgentState& state() const { return kept_.state(); }
  [[nodiscard]] const Metrics& metrics() const { return kept_.metrics(); }
  [[nodiscard]] const Timings& timings() const { return timings_; }
  /// CPUs of the node that are offline. No container gets exclusive CPUs until they are back.
  [[nodiscard]] const CpuSet& offline() const { return offline_; }
  /// See KnownMachine.
  [[nodiscard]] const std::optional<Machine>& observed() const { return observed_; }
  /// Where the machine is not as the node has it, which only a reconfiguration takes over: one
  /// sentence for each difference, and for each kind of memory of which more is allocated than
  /// there is.
  [[nodiscard]] std::vector<std::string> machine_changes() const;
  /// Why the node has its profile.
  [[nodiscard]] ProfileSource profile_source() const { return options_.profile_source; }
  [[nodiscard]] bool enforces() const { return enforced_.has_value(); }
  /// What the kernel has; nullptr if the agent enforces nothing.
  [[nodiscard]] const EnforcedLayout* enforced() const { return enforced_ ? &*enforced_ : nullptr; }
  /// What the state asks of the kernel.
  [[nodiscard]] Desired desired() const;
  /// Where the kernel differs from that; nothing if the agent enforces nothing. Errors: kIo.
  [[nodiscard]] Result<std::vector<std::string>> find_drift() const;

  /// `confine` is called with this agent, whose state is the new one, whenever running containers
  /// are about to get exclusive CPUs: see OthersConfiner.
  using ConfineOthers = std::function<void(const NodeAgent&, const CpuSet& allowed)>;
  void set_confine_others(ConfineOthers confine) { confine_others_ = std::move(confine); }

  /// Admits a pod. `trace`, if given, gets the reasons.
  /// Memory that the machine no longer has (machine_changes()) is not allocated: the pod is
  /// rejected. Errors: those of the store, kUnsupported while CPUs are offline, and kBusy if a
  /// different pod with its UID is active and a container of that runs, which would end or not keep
  /// its CPUs: see find_losses(); then nothing has changed.
  [[nodiscard]] Result<AdmitOutcome> admit(const PodSpec& pod, Trace* trace = nullptr);
  /// Several pods in one transaction: decided one after the other, each with its own answer,
  /// committed together, then enforced. `traces`, if given, gets one trace for each pod.
  [[nodiscard]] Result<std::vector<AdmitOutcome>> admit(const std::vector<PodSpec>& pods,
                                                        std::vector<Trace>* traces = nullptr,
                                                        const FromRuntime& shown = {});
  /// Keeps what a runtime has shown of active pods; nothing is stored if nothing has changed.
  /// Errors: those of the store; then nothing has changed.
  [[nodiscard]] Result<void> note(const PodNotes& notes);
  /// Admits a pod and adopts the group of one of its containers, in one transaction; the pod ends
  /// with its last adopted container. Of a pod that is already active it only adopts the group, and
  /// the pod ends as it would have. A pod that is admitted again with admit() does not end so.
  /// Errors: as admit; kNotFound for a container that the pod does not have; those of
  /// EnforcedLayout::check_adoptable. Then nothing has changed.
  [[nodiscard]] Result<AdmitOutcome> admit_adopted(const PodSpec& pod, const Adoption& adoption);
  /// Adopts the group of a container of an active pod: its cpuset is kept, and nothing else of it.
  /// Errors: kNotFound; kUnsupported if it enforces nothing; those of
  /// EnforcedLayout::check_adoptable and of the store. Then nothing has changed.
  [[nodiscard]] Result<ChangeOutcome> adopt(const PodUid& uid, const Adoption& adoption);
  /// Several in one transaction; one that cannot be adopted does not keep the others from it.
  /// Errors: kUnsupported if it enforces nothing; those of the store. Then nothing has changed.
  [[nodiscard]] Result<GroupsAdopted> adopt(const std::vector<AdoptedGroup>& groups);
  /// Forgets the adopted group of a container that has ended and may come back: what is allocated
  /// to the container stays allocated.
  /// Errors: kNotFound if it has none; kBusy if processes run there; those of the store. Then
  /// nothing has changed.
  [[nodiscard]] Result<ChangeOutcome> disown(const ContainerId& container);
  /// Adopts the group of a pod's sandbox for all containers of the pod that have exclusive CPUs:
  /// its runtime makes no group for each of them. The group has the CPUs of all of them.
  /// Errors: as adopt; kNotFound if no container of the pod has exclusive CPUs.
  [[nodiscard]] Result<ChangeOutcome> adopt_sandbox(const PodUid& uid,
                                                    const std::string& directory);
  /// Forgets that a container has the group of its sandbox, in which processes still run: the
  /// caller keeps these off exclusive CPUs. Errors: kNotFound; those of the store.
  [[nodiscard]] Result<ChangeOutcome> disown_sandbox(const ContainerId& container);
  /// Reads back from the kernel that a container with exclusive CPUs has them, and verify_room();
  /// of any other container that it can run on no exclusive CPU. Errors: kUnsupported if it
  /// enforces nothing; kNotFound; kBusy if it is not so; kIo.
  [[nodiscard]] Result<void> verify(const ContainerId& container) const;
  /// Reads back that no other container and nothing else below the root can run on the CPUs that
  /// are exclusive to a container, whether it has a group or not. Errors: as verify.
  [[nodiscard]] Result<void> verify_room(const ContainerId& container) const;
  /// A container is about to start: its predecessors release what they no longer need, and its
  /// group exists when this returns.
  /// Errors: kNotFound; those of the store.
  [[nodiscard]] Result<ChangeOutcome> start(const ContainerId& container);
  /// Resets the CPU affinity of the processes in the group of a container whose program does not
  /// run yet; what cannot be done is logged. Does nothing without AgentOptions::reset_affinity.
  void reset_affinity(const ContainerId& container) { reset_affinity(container, std::nullopt); }
  /// Moves a process into the group of an active pod's container, and resets its CPU affinity as
  /// reset_affinity does.
  /// Errors: kUnsupported if it enforces nothing; kNotFound; kIo.
  [[nodiscard]] Result<void> attach(const ContainerId& container, pid_t process);
  /// The same, for a number that was not yet another process' afterwards.
  /// Errors: also kNotFound if the process ended meanwhile.
  [[nodiscard]] Result<void> attach(const ContainerId& container,
                                    const enforce::LiveProcess& process);

  /// Removes a container, or a pod with all its containers, also a held one.
  /// Errors: kNotFound; kBusy if processes still run there (and are not to be killed, or survive
  /// it); those of the store. Nothing has changed then.
  [[nodiscard]] Result<ChangeOutcome> remove_container(const ContainerId& container,
                                                       RunningProcesses running);
  [[nodiscard]] Result<ChangeOutcome> remove_pod(const PodUid& uid, RunningProcesses running);
  /// Goes on with another configuration or machine: commits the state that its pods have there,
  /// then applies it, without a moment of overlap. `next`: as plan_reconfiguration() gives it. Pods
  /// that it lacks leave. Before that it applies what is desired until now, as far as possible:
  /// an interrupted reconfiguration. Errors: kInvalidArgument if no order of steps avoids an
  /// overlap; kBusy if processes of these still run (and are not to be killed, or survive it);
  /// kCorrupt if a kubelet of `to` would not start from that state, with its text; those of the
  /// store. Then the node and its state have not changed.
  [[nodiscard]] Result<ReconfigureOutcome> reconfigure(Node to, NodeState next,
                                                       RunningProcesses running);
  /// The same on the same node, for a state as plan_defragmentation() gives it: every pod stays.
  /// Errors: as above, but for kBusy.
  [[nodiscard]] Result<ReconfigureOutcome> reconfigure(NodeState next);
  /// The node before the last reconfiguration of this state directory.
  [[nodiscard]] const std::optional<EarlierNode>& before() const { return kept_.before(); }
  /// Releases what held pods have: pods that only the kubelet's files name, of which the caller
  /// says that they no longer run. Errors: those of the store.
  [[nodiscard]] Result<ChangeOutcome> release_unknown();
  /// Removes a container whose group was adopted, and its pod if the pod ends with it. While
  /// processes run in other groups of the pod, that stays until remove_abandoned().
  /// Errors: as remove_container.
  [[nodiscard]] Result<ChangeOutcome> remove_adopted(const ContainerId& container,
                                                     RunningProcesses running);
  /// The same for every adopted container without a process: its runtime died without removing
  /// it. With Abandoned::kDisown those of pods that do not end with them are disowned.
  /// Returns the removed ones; a failure of one does not stop the others.
  [[nodiscard]] std::vector<ContainerId> remove_abandoned();

  /// Makes the kernel have what the state asks for, and removes abandoned containers; idempotent.
  /// Errors: kUnsupported if it enforces nothing; kIo if the groups cannot be read.
  [[nodiscard]] Result<ReconcileReport> reconcile() {
    return reconcile(options_.move_pages ? PageMoves::kOn : PageMoves::kOff);
  }
  /// The same; `pages`: instead of AgentOptions::move_pages.
  [[nodiscard]] Result<ReconcileReport> reconcile(PageMoves pages);

  /// Brings the state files up to date and makes them durable; until then what was committed is
  /// durable in the journal, and the files are older. Also keeps the counts of metrics(). The
  /// destructor does the first, but cannot report a failure. Errors: kIo; nothing is lost, and the
  /// next call or opening tries again.
  [[nodiscard]] Result<void> settle() { return kept_.settle(); }

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
  [[nodiscard]] Result<std::string> directory_to_adopt(const PodSpec& pod,
                                                       const Adoption& adoption) const;
  [[nodiscard]] Result<bool> runs_beside(const ContainerId& container) const;
  void end_pods();
  [[nodiscard]] Result<void> check_forgotten(const AgentState& next);
  [[nodiscard]] Result<void> check_replaced(const std::vector<PodSpec>& pods,
                                            const AgentState& next) const;
  [[nodiscard]] bool runs(const ContainerId& container) const;
  [[nodiscard]] Result<void> commit(const std::vector<PodSpec>& pods, Decided& decided,
                                    Unstored unstored = Unstored::kFails);
  /// Commits, and measures that.
  [[nodiscard]] Result<void> store(AgentState next, Unstored unstored = Unstored::kFails);
  /// Commits, then applies.
  /// Whose enforcement a caller waits for; nullopt: that of all.
  using ChangedPods = std::optional<std::set<PodUid>>;
  [[nodiscard]] Result<ChangeOutcome> change(AgentState next, std::string_view intent,
                                             const ChangedPods& pods);
  [[nodiscard]] std::optional<Error> apply(const ChangedPods& pods,
                                           const StepWatcher& watcher = nullptr);
  [[nodiscard]] Participants participants(const StepWatcher& watcher = nullptr) const;
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
  ConfineOthers confine_others_;
  Timings timings_;
};

}  // namespace pinfold::agent
