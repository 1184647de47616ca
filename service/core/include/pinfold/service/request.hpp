#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/agent/hooked.hpp"
#include "pinfold/agent/reconfigure.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/service/snapshot.hpp"

/// What a node agent can be asked to do, and its answers, as values.
namespace pinfold::service {

/// Admits pods in one transaction.
struct Admit {
  std::vector<PodSpec> pods;
  bool wants_trace = false;
};
/// See NodeAgent::start.
struct Start {
  ContainerId container;
};
/// See NodeAgent::attach. Errors: also kNotFound for a process that has ended.
struct Attach {
  ContainerId container;
  enforce::ProcessId process;
};
/// Removes a pod, or if `container` is not "" only this container of it.
struct Remove {
  PodUid pod;
  std::string container;
  agent::RunningProcesses running = agent::RunningProcesses::kRefuse;
};
/// See NodeAgent::release_unknown.
struct ReleaseUnknown {};
/// See agent::admit_hooked, after NodeAgent::remove_abandoned.
struct AdmitHooked {
  PodSpec pod;
  agent::Adoption adoption;
  enforce::ProcessId process;  ///< the container's first
};
/// See agent::remove_hooked.
struct RemoveHooked {
  ContainerId container;
};
/// See NodeAgent::reconcile.
struct Reconcile {
  agent::PageMoves pages = agent::PageMoves::kOff;
};
/// See NodeAgent::settle.
struct Settle {};
/// See NodeAgent::adopt.
struct Adopt {
  PodUid pod;
  agent::Adoption adoption;
};
/// See agent::reconfigure.
using Reconfigure = agent::ReconfigureRequest;
/// See agent::defragment.
using Defragment = agent::DefragmentRequest;
/// The most steps of a search that a client can ask for: other requests wait meanwhile.
inline constexpr std::uint32_t kMostSteps = 10'000;
/// Reads the comparison of the snapshot: Done if there is none. Waits for no other request.
struct ReadComparison {};

using Action = std::variant<Admit, Start, Attach, Remove, ReleaseUnknown, AdmitHooked, RemoveHooked,
                            Reconcile, Settle, Adopt, ReadComparison, Reconfigure, Defragment>;

/// The answers to the pods of Admit, and if it wants them the traces, one for each pod.
struct Admissions {
  std::vector<agent::AdmitOutcome> outcomes;
  std::vector<Trace> traces;
};
struct Done {};  ///< without more to say
/// Nothing: the hook's request is done.
using HookOutcome = std::optional<agent::Refusal>;

using Answer = std::variant<Done, Admissions, agent::ChangeOutcome, HookOutcome,
                            agent::ReconcileReport, Comparison, agent::Reconfigured>;
/// Receives the answer; must neither block nor throw.
using Completion = std::function<void(Result<Answer>)>;

struct Request {
  Action action;
  Completion done;
  /// If it has passed when the request's turn comes, the request is not done.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// The error of a request that was not done because the service stops: kBusy with ESHUTDOWN.
[[nodiscard]] Error stopping_error();
[[nodiscard]] bool is_stopping(const Error& error);

/// What AdmitHooked does with a process of which `has_ended` knows whether it has.
[[nodiscard]] HookOutcome admit_hooked(agent::NodeAgent& agent, const AdmitHooked& request,
                                       const std::function<bool()>& has_ended);

/// Does anything but Admit: several of those are done together, see admit_together. `source`: for
/// Reconfigure.
[[nodiscard]] Result<Answer> execute(agent::NodeAgent& agent, const Action& action,
                                     const agent::NodeSource& source = {});

/// Does several Admit in one transaction, each with the answer that it would have after the ones
/// before it; if the transaction fails, each in one of its own. Returns: one answer for each.
[[nodiscard]] std::vector<Result<Answer>> admit_together(agent::NodeAgent& agent,
                                                         const std::vector<const Admit*>& requests);

}  // namespace pinfold::service
