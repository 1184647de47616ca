#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/log.hpp"
#include "pinfold/agent/metrics.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/enforce/cgroups.hpp"

namespace pinfold::agent {

/// What an admission came to: admitted unless there is a rejection.
struct AdmitOutcome {
  std::optional<Rejection> rejection;
  /// Admitted and durable, but the kernel does not have it yet; reconcile() tries again.
  std::optional<Error> not_enforced;
};

/// What a removal or start came to.
struct ChangeOutcome {
  std::optional<Error> not_enforced;
};

struct ReconcileReport {
  std::vector<std::string> drift;      ///< what was found, as drift() tells it
  enforce::Plan done;                  ///< what was done about it
  std::vector<std::string> moved;      ///< processes and pages that were brought back
  std::vector<std::string> remaining;  ///< what could not be repaired, and why
};

/// What the kernel has for one container.
struct ObservedContainer {
  CpuSet effective_cpus;
  enforce::NodeSet effective_mems;
  std::size_t processes = 0;
  /// Share of their resident memory on the nodes that the container may use, 0 to 1.
  double page_placement = 1;
};

enum class RunningProcesses { kRefuse, kKill };

/// The group that a container runtime made for a container: see Cgroups::adopt.
struct Adoption {
  std::string container;
  std::string directory;  ///< absolute, in the hierarchy with the cpusets
};

/// The node agent: decides, commits, applies. The state on disk leads, the kernel follows; a failed
/// application never takes a decision back, it leaves the node dirty.
/// Thread-safety: none; one caller at a time. Another process is kept out by the lock of the state
/// directory.
class NodeAgent {
 public:
  /// Starts as the kubelet restarts: restores and checks both state files, then observes the
  /// kernel. Changes nothing. Without `cgroups` it decides and stores, and enforces nothing.
  /// `options`: state_dir is what messages call the directory of `store`; of the others dry_run,
  /// move_pages and log. `offline`: CPUs of the node that are offline (see known_machine).
  /// Errors: kCorrupt and kInvalidArgument, with the kubelet's text where the kubelet has one.
  [[nodiscard]] static Result<NodeAgent> open(Node node, checkpoint::Store store,
                                              std::optional<enforce::Cgroups> cgroups,
                                              AgentOptions options, CpuSet offline = {});

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const AgentState& state() const { return state_; }
  [[nodiscard]] bool enforces() const { return cgroups_.has_value(); }
  /// nullptr if it enforces nothing.
  [[nodiscard]] enforce::Cgroups* cgroups() { return cgroups_ ? &*cgroups_ : nullptr; }
  /// What its kernel has; nothing if it enforces nothing.
  [[nodiscard]] enforce::KernelFacts facts() const {
    return cgroups_ ? cgroups_->facts() : enforce::KernelFacts{};
  }
  /// What was counted since the state directory was made; what the last admissions before a crash
  /// counted may be lost.
  [[nodiscard]] const Metrics& metrics() const { return metrics_; }
  /// CPUs of the node that are not there at the moment. No pod is admitted until they are back.
  [[nodiscard]] const CpuSet& offline() const { return offline_; }
  /// Whom that concerns and how, one sentence for each container and the shared pool.
  [[nodiscard]] std::vector<std::string> affected() const;
  /// Why containers are no partitions although they should be, as the kernel says it.
  [[nodiscard]] const std::map<enforce::GroupName, std::string>& partition_problems() const {
    return partition_problems_;
  }
  /// True if the kernel is known not to have what the state says.
  [[nodiscard]] bool is_dirty() const { return dirty_; }

  /// Errors: those of the store; then nothing has changed anywhere.
  [[nodiscard]] Result<AdmitOutcome> admit(const PodSpec& pod, Trace* trace = nullptr);
  /// Several pods in one transaction: decided one after the other, each with its own answer,
  /// committed together, then enforced. `traces`, if there is one, gets one trace for each pod.
  /// Errors: those of the store; then none of the pods is admitted.
  [[nodiscard]] Result<std::vector<AdmitOutcome>> admit_together(
      const std::vector<PodSpec>& pods, std::vector<Trace>* traces = nullptr);
  /// Admits a pod and adopts the group of one of its containers, in one step: the pod ends with its
  /// last adopted container. A pod that is active already is taken as it is, and ends as it would.
  /// Errors: as admit; kNotFound for a container that the pod does not have.
  [[nodiscard]] Result<AdmitOutcome> admit_adopted(const PodSpec& pod, const Adoption& adoption);
  /// From now on a container of an active pod has its group there.
  /// Errors: kNotFound; kUnsupported if it enforces nothing; those of the store.
  [[nodiscard]] Result<ChangeOutcome> adopt(const PodUid& uid, const Adoption& adoption);
  /// Removes a container whose group was adopted, and its pod if the pod ends with it.
  /// Errors: as remove_container.
  [[nodiscard]] Result<ChangeOutcome> remove_adopted(const ContainerId& container,
                                                     RunningProcesses running);
  /// The same for every adopted container without a process: its runtime died without removing
  /// it. Returns the removed ones; a failure of one does not stop the others.
  [[nodiscard]] std::vector<ContainerId> remove_abandoned();
  /// A container is about to start: what its predecessors no longer need is released, and its
  /// group is there when this returns.
  /// Errors: kNotFound; those of the store.
  [[nodiscard]] Result<ChangeOutcome> start(const ContainerId& container);
  /// Moves a process into the group of an active pod's container.
  /// Errors: kUnsupported if it enforces nothing; kNotFound; kIo.
  [[nodiscard]] Result<void> attach(const ContainerId& container, pid_t process);
  /// A container, or a pod with all its containers, is gone for good.
  /// Errors: kNotFound; kBusy if processes still run there (and were not to be killed, or survive
  /// it); those of the store. Nothing has changed then.
  [[nodiscard]] Result<ChangeOutcome> remove_container(const ContainerId& container,
                                                       RunningProcesses running);
  [[nodiscard]] Result<ChangeOutcome> remove_pod(const PodUid& uid, RunningProcesses running);

  /// Compares what the kernel has with what the state says, and repairs it; idempotent.
  /// Errors: kUnsupported if it enforces nothing; kIo if the groups cannot be read.
  [[nodiscard]] Result<ReconcileReport> reconcile();
  /// What reconcile() would find. Empty if it enforces nothing.
  [[nodiscard]] Result<std::vector<std::string>> find_drift();

  /// The groups the state asks for.
  [[nodiscard]] enforce::Layout desired() const;
  /// What the kernel has for a container. Errors: kUnsupported, kIo, kNotFound.
  [[nodiscard]] Result<ObservedContainer> look(const ContainerId& container);

 private:
  NodeAgent(Node node, checkpoint::Store store, AgentOptions options) noexcept
      : node_(std::move(node)), store_(std::move(store)), options_(std::move(options)) {}
  void log(LogLevel level, const std::string& message) const {
    if (options_.log) options_.log(level, message);
  }
  [[nodiscard]] Result<void> restore();
  [[nodiscard]] Result<std::vector<AdmitOutcome>> admit_with(const std::vector<PodSpec>& pods,
                                                             std::vector<Trace>* traces,
                                                             const Adoption* adoption);
  [[nodiscard]] std::optional<Error> adopt_and_apply(const Adoption* adoption, const PodUid& pod);
  void adopt_known();
  [[nodiscard]] Result<void> commit(AgentState next);
  void save_metrics();
  [[nodiscard]] std::optional<Error> apply();
  [[nodiscard]] Result<void> try_apply();
  [[nodiscard]] Result<void> observe();
  [[nodiscard]] Result<enforce::Plan> plan_now();
  [[nodiscard]] Result<void> enforce(enforce::Plan& done);
  void bring_back(ReconcileReport& report);
  void move_pages(ReconcileReport& report);
  [[nodiscard]] CpuSet online_pool() const;
  [[nodiscard]] Result<void> run(const enforce::Plan& steps, enforce::Plan& done);
  [[nodiscard]] Result<void> make_empty(const std::vector<enforce::GroupName>& groups,
                                        RunningProcesses running);

  Node node_;
  checkpoint::Store store_;
  AgentOptions options_;
  CpuSet offline_;
  std::optional<enforce::Cgroups> cgroups_;
  AgentState state_;
  checkpoint::Files stored_;      ///< the bytes on disk
  checkpoint::Files next_files_;  ///< as stored_, and what a start would add
  Metrics metrics_;
  enforce::Layout observed_;              ///< what the kernel has, as far as is known
  std::vector<enforce::GroupName> busy_;  ///< groups with processes that belong to nothing active
  bool dirty_ = false;
  std::string known_machine_;      ///< the bytes of the file that remembers it
  bool partitions_known_ = false;  ///< what earlier agents left of them has been looked at
  std::map<enforce::GroupName, std::string> partition_problems_;
};

}  // namespace pinfold::agent
