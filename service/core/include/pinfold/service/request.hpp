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
/// Reads how the service does: ServiceReport. Waits for no other request.
struct ReadService {};

using Action =
    std::variant<Admit, Start, Attach, Remove, ReleaseUnknown, AdmitHooked, RemoveHooked, Reconcile,
                 Settle, Adopt, ReadComparison, ReadService, Reconfigure, Defragment>;

/// Whether a request can change the node: not one that only reads, plans, or repeats what is
/// stored.
[[nodiscard]] bool can_change(const Action& action);

/// The answers to the pods of Admit, and if it wants them the traces, one for each pod.
struct Admissions {
  std::vector<agent::AdmitOutcome> outcomes;
  std::vector<Trace> traces;
};
struct Done {};  ///< without more to say
/// How the service does, and where else it can be reached.
struct ServiceReport {
  std::chrono::milliseconds busy{0};  ///< what the worker does now takes so long already
  bool is_following = true;           ///< no `nri`, or a runtime is connected or was lately
  std::string pod_resources_socket;   ///< "": PodResources is not served
  std::string pod_resources_reason;   ///< why not there, or not where a kubelet serves it; or ""

  friend bool operator==(const ServiceReport&, const ServiceReport&) = default;
};
/// Nothing: the hook's request is done.
using HookOutcome = std::optional<agent::Refusal>;

using Answer = std::variant<Done, Admissions, agent::ChangeOutcome, HookOutcome,
                            agent::ReconcileReport, Comparison, ServiceReport, agent::Reconfigured>;
/// Receives the answer; must neither block nor throw.
using Completion = std::function<void(Result<Answer>)>;

/// Who sends a request: queue and sockets keep some room that only the owner can take.
enum class Origin {
  kOwner,  ///< root or the service's user, the service itself, and the container runtime
  kOther   ///< a member of the group of the socket, or unknown
};

struct Request {
  Action action;
  Completion done;
  /// If it passes before the request's turn comes, the request is answered then, and not done.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  Origin origin = Origin::kOwner;
};

/// The most that one request can name, so that no request holds the worker for long: a kubelet runs
/// at most 110 pods unless it is told otherwise, and hardly any runs more than 500.
inline constexpr std::size_t kMostPods = 512;
inline constexpr std::size_t kMostContainers = 2048;  ///< of all pods of the request together
/// Errors: kInvalidArgument, "5000 containers in one request: expected at most 2048".
[[nodiscard]] Result<void> check_size(const std::vector<PodSpec>& pods);
/// The same for the pods of a request.
[[nodiscard]] Result<void> check_size(const Action& action);

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
