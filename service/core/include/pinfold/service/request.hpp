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

/// Requests to a node agent and their answers, as values.
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
/// See NodeAgent::attach. Errors: also kNotFound if the process has exited.
struct Attach {
  ContainerId container;
  enforce::ProcessId process;
};
/// Removes a pod, or only one of its containers if `container` is not empty.
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
  enforce::ProcessId process;  ///< the container's first process
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
/// The largest number of search steps that a client may ask for, because other requests wait.
inline constexpr std::uint32_t kMostSteps = 10'000;
/// Reads the comparison of the snapshot. Answer: Done if there is none.
/// Waits for no other request.
struct ReadComparison {};
/// Reads the state of the service. Answer: ServiceReport. Waits for no other request.
struct ReadService {};

using Action =
    std::variant<Admit, Start, Attach, Remove, ReleaseUnknown, AdmitHooked, RemoveHooked, Reconcile,
                 Settle, Adopt, ReadComparison, ReadService, Reconfigure, Defragment>;

/// Returns whether a request can change the node. False if it only reads, plans, or applies again
/// what is stored.
[[nodiscard]] bool can_change(const Action& action);

/// Answers to the pods of Admit and, if requested, one trace per pod.
struct Admissions {
  std::vector<agent::AdmitOutcome> outcomes;
  std::vector<Trace> traces;
};
struct Done {};  ///< success, without further data
/// State of the service, and the other sockets that it serves.
struct ServiceReport {
  std::chrono::milliseconds busy{0};  ///< time since the current request began
  bool is_following = true;           ///< no `nri`, or a runtime is connected or was until recently
  std::string pod_resources_socket;   ///< empty if PodResources is not served
  std::string pod_resources_reason;   ///< why it is not served, or not where a kubelet serves it

  friend bool operator==(const ServiceReport&, const ServiceReport&) = default;
};
/// Empty if the hook's request was carried out.
using HookOutcome = std::optional<agent::Refusal>;

using Answer = std::variant<Done, Admissions, agent::ChangeOutcome, HookOutcome,
                            agent::ReconcileReport, Comparison, ServiceReport, agent::Reconfigured>;
/// Receives the answer; must neither block nor throw.
using Completion = std::function<void(Result<Answer>)>;

/// Who sends a request. Queue and sockets keep some room that only the owner may use.
enum class Origin {
  kOwner,  ///< root or the service's user, the service itself, and the container runtime
  kOther   ///< a member of the group of the socket, or unknown
};

struct Request {
  Action action;
  Completion done;
  /// If it passes while the request still waits, the request is answered then and not carried out.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  Origin origin = Origin::kOwner;
};

/// Limits of one request, so that none holds the worker for long. A kubelet runs 110 pods by
/// default, and hardly any runs more than 500.
inline constexpr std::size_t kMostPods = 512;
inline constexpr std::size_t kMostContainers = 2048;  ///< of all pods in the request
/// Errors: kInvalidArgument, "5000 containers in one request: expected at most 2048".
[[nodiscard]] Result<void> check_size(const std::vector<PodSpec>& pods);
/// Checks the pods of a request in the same way.
[[nodiscard]] Result<void> check_size(const Action& action);

/// Returns the error of a request that was not carried out because the service is stopping: kBusy
/// with ESHUTDOWN.
[[nodiscard]] Error stopping_error();
[[nodiscard]] bool is_stopping(const Error& error);

/// Handles AdmitHooked; `has_ended` says whether the container's process has exited.
[[nodiscard]] HookOutcome admit_hooked(agent::NodeAgent& agent, const AdmitHooked& request,
                                       const std::function<bool()>& has_ended);

/// Executes any action except Admit, for which see admit_together. `source` is for Reconfigure.
[[nodiscard]] Result<Answer> execute(agent::NodeAgent& agent, const Action& action,
                                     const agent::NodeSource& source = {});

/// Executes several Admit in one transaction. Each gets the answer that it would get after the ones
/// before it. If the transaction fails, runs each in its own. Returns one answer per request.
[[nodiscard]] std::vector<Result<Answer>> admit_together(agent::NodeAgent& agent,
                                                         const std::vector<const Admit*>& requests);

}  // namespace pinfold::service
