#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/durations.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/decide/keep.hpp"
#include "pinfold/decide/resize.hpp"

namespace pinfold::quiet {
class QuietKnobs;
struct KeptKnob;
struct Knob;
struct QuietReport;
}  // namespace pinfold::quiet

namespace pinfold::agent {

class AssignedFiles;
class EnforcedLayout;
class KeptState;
class ObservedCgroups;
struct EarlierNode;
struct Metrics;

/// A group that a container runtime made for a container.
struct Adoption {
  std::string container;
  /// Absolute path in the hierarchy with the cpusets, in any spelling; it is stored in its
  /// canonical form, see enforce::Cgroups::canonical.
  std::string directory;
};

/// The answer to one pod: admitted unless there is a rejection.
struct AdmitOutcome {
  std::optional<Rejection> rejection;
  /// The change is durable but not applied to the kernel; reconcile() tries again.
  std::optional<Error> not_enforced;
  /// Known bugs of the kubelet that affect the pod, see acting_quirks. Before them, if a rejected
  /// pod needs exclusive CPUs, that CPUs are offline.
  std::vector<std::string> notes = {};
};

/// What a container runtime reported about the pods to admit.
struct FromRuntime {
  PodNotes notes;                   ///< of these pods, and of others that are active
  std::map<PodUid, Places> places;  ///< of containers that already run; they are kept if possible
  /// Containers of these pods that release their CPUs first, while they run.
  std::vector<ContainerId> release = {};
  Unstored unstored = Unstored::kFails;
  /// The process that makes the pods' first container; see AgentState::creators.
  std::optional<enforce::ProcessId> creator = {};
};

/// What an admission would do.
struct Preview {
  std::vector<AdmitOutcome> outcomes;  ///< one per pod
  AgentState next;                     ///< the state after it
};

/// What a node agent knows and what it would decide. Changes nothing.
class NodeView {
 public:
  NodeView(NodeView&&) noexcept;
  NodeView& operator=(NodeView&&) noexcept;
  ~NodeView();

  [[nodiscard]] const Node& node() const { return *node_; }
  /// Returns the node as a shared pointer, for readers that outlive a reconfiguration.
  [[nodiscard]] const std::shared_ptr<const Node>& shared_node() const { return node_; }
  [[nodiscard]] const AgentOptions& options() const { return options_; }
  [[nodiscard]] const AgentState& state() const;
  [[nodiscard]] const Metrics& metrics() const;
  [[nodiscard]] const Timings& timings() const { return timings_; }
  /// Returns the offline CPUs of the node. While there are any, no container gets exclusive CPUs.
  [[nodiscard]] const CpuSet& offline() const { return offline_; }
  /// See KnownMachine.
  [[nodiscard]] const std::optional<Machine>& observed() const { return observed_; }
  /// Returns one sentence per difference between the current machine and the node, which only a
  /// reconfiguration can adapt to, and per kind of memory that is allocated beyond its current
  /// size.
  [[nodiscard]] std::vector<std::string> machine_changes() const;
  [[nodiscard]] bool enforces() const { return enforced_ != nullptr; }
  /// Returns the control groups, to read them; nullptr if the agent enforces nothing.
  [[nodiscard]] const ObservedCgroups* enforced() const;
  /// Returns what is known of their contents; nullptr if the agent enforces nothing.
  [[nodiscard]] const EnforcedLayout* layout() const { return enforced_.get(); }
  /// Returns which values of the system Pinfold has changed since the kernel started.
  [[nodiscard]] std::map<quiet::Knob, quiet::KeptKnob> kept_knobs() const;
  /// Returns the state of interrupts, queues and services; nullptr if Pinfold does not manage them.
  [[nodiscard]] const quiet::QuietReport* quiet_report() const;
  /// Returns the desired state of the kernel.
  [[nodiscard]] Desired desired() const;
  /// Returns the differences of the kernel from the desired state; empty if the agent enforces
  /// nothing. Errors: kIo.
  [[nodiscard]] Result<std::vector<std::string>> find_drift() const;
  /// Returns the node before the last reconfiguration of this state directory.
  [[nodiscard]] const std::shared_ptr<const EarlierNode>& before() const;

  /// Admits or rejects pods, in order, on a copy of the state, with the checks of an admission.
  /// Adds one trace per pod to `traces` if it is given. Errors: as NodeAgent::admit, except those
  /// of the store.
  [[nodiscard]] Result<Preview> preview(const std::vector<PodSpec>& pods,
                                        std::vector<Trace>* traces = nullptr) const;
  /// Does the same on a copy of a state that follows from state(), such as that of an earlier
  /// preview.
  [[nodiscard]] Result<Preview> preview_after(const AgentState& before,
                                              const std::vector<PodSpec>& pods,
                                              std::vector<Trace>* traces = nullptr) const;
  /// Reads back from the kernel that a container with exclusive CPUs has them, and calls
  /// verify_room(). Reads back that any other container can run on no exclusive CPU. If its pod
  /// demands QuietLevel::kIsolated, checks that everything has left its CPUs.
  /// Errors: kUnsupported if the agent enforces nothing; kNotFound; kBusy if the check fails; kIo.
  [[nodiscard]] Result<void> verify(const ContainerId& container) const;
  /// Reads back that no other container and nothing else below the root can run on the exclusive
  /// CPUs of a container, which need not have a group yet. Errors: as verify.
  [[nodiscard]] Result<void> verify_room(const ContainerId& container) const;

 protected:
  struct Decided : Preview {
    Counts counts;
    std::chrono::steady_clock::time_point begin;
  };
  NodeView(Node node, std::unique_ptr<KeptState> kept, std::unique_ptr<EnforcedLayout> enforced,
           AgentOptions options, CpuSet offline, std::optional<Machine> observed);
  void log(LogLevel level, const std::string& message) const {
    if (options_.log) options_.log(level, message);
  }
  [[nodiscard]] std::chrono::steady_clock::time_point now() const {
    return options_.now ? options_.now() : std::chrono::steady_clock::now();
  }
  /// Returns the error of a call that needs control groups.
  [[nodiscard]] static tl::unexpected<Error> enforces_nothing();
  /// Returns whether a container runtime is followed.
  [[nodiscard]] bool has_runtime() const;
  [[nodiscard]] Result<Decided> decide_all(const AgentState& before,
                                           const std::vector<PodSpec>& pods,
                                           std::vector<Trace>* traces,
                                           const FromRuntime& shown = {}) const;
  [[nodiscard]] Result<Decided> decide_checked(const AgentState& before,
                                               const std::vector<PodSpec>& pods,
                                               std::vector<Trace>* traces,
                                               const FromRuntime& shown) const;
  /// Decides a resize on a copy of the state. Errors: those of pinfold::resize; kNotFound for a
  /// container that was removed; kUnsupported if it would get CPUs while CPUs are offline.
  [[nodiscard]] Result<ResizeDecision> preview_resize(const ResizeRequest& request,
                                                      Trace* trace = nullptr) const;
  /// Returns the canonical directory of a group to adopt for a pod that is not active yet.
  [[nodiscard]] Result<std::string> directory_to_adopt(const PodSpec& pod,
                                                       const Adoption& adoption) const;
  void add_partitions(const AgentState& state, Desired& desired) const;

  std::shared_ptr<const Node> node_;
  // On the heap: agents are returned by value, and a caller's stack may be small.
  std::unique_ptr<KeptState> kept_;
  std::unique_ptr<EnforcedLayout> enforced_;  ///< null: nothing is enforced
  AgentOptions options_;
  CpuSet offline_;
  std::optional<Machine> observed_;  ///< see KnownMachine
  enforce::Layout earlier_;          ///< see Desired
  Timings timings_;
  std::unique_ptr<AssignedFiles> assigned_;
  std::unique_ptr<quiet::QuietKnobs> quiet_;  ///< null: nothing is, was or will be quiet

 private:
  [[nodiscard]] Result<void> check_forgotten(const AgentState& next) const;
  [[nodiscard]] Result<void> check_replaced(const std::vector<PodSpec>& pods,
                                            const AgentState& next,
                                            const std::vector<ContainerId>& released) const;
  [[nodiscard]] bool runs(const ContainerId& container) const;
  [[nodiscard]] Result<void> verify_quiet(const ContainerId& container, const CpuSet& cpus) const;
};

}  // namespace pinfold::agent
