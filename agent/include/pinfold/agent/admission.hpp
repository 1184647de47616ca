#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/decide/keep.hpp"

namespace pinfold::agent {

/// The answer to one pod: admitted unless there is a rejection.
struct AdmitOutcome {
  std::optional<Rejection> rejection;
  /// The change is durable but not applied to the kernel; reconcile() tries again.
  std::optional<Error> not_enforced;
  /// Known bugs of the kubelet that act, see acting_quirks; before them, of a rejected pod that
  /// needs exclusive CPUs, that CPUs are offline.
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

/// What determines an admission besides the state.
struct AdmissionFacts {
  const Node& node;
  const CpuSet& offline;                   ///< CPUs of the node that are offline
  const std::optional<Machine>& observed;  ///< see KnownMachine
};

/// What an admission would do.
struct Preview {
  std::vector<AdmitOutcome> outcomes;  ///< one per pod
  AgentState next;                     ///< the state after it
};

/// Decides pods in order on a copy of the state. Adds one trace per pod to `traces`, and to
/// `counts`, if they are given. Rejects a pod that would need memory that the machine no longer
/// has. Does not look at what runs: see NodeAgent::preview. Errors: kUnsupported if a pod would get
/// exclusive CPUs while CPUs are offline.
[[nodiscard]] Result<Preview> preview_admission(
    const AdmissionFacts& facts, const AgentState& state, const std::vector<PodSpec>& pods,
    std::vector<Trace>* traces = nullptr, const FromRuntime& shown = {}, Counts* counts = nullptr);

/// Returns "admit pod 'a', 'b'".
[[nodiscard]] std::string intent_to_admit(const std::vector<PodSpec>& pods);

}  // namespace pinfold::agent
