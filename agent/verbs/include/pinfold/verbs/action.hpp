#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/verbs/reconfigure.hpp"

/// The requests to a node agent, as values. Commands, sockets, the C interface and the NRI plugin
/// turn their bytes into these, and the answers back: docs/architecture.md.
namespace pinfold::verbs {

/// Admits pods in one transaction.
struct Admit {
  std::vector<PodSpec> pods;
  bool wants_trace = false;
  agent::FromRuntime shown = {};  ///< only from a container runtime
  bool wants_pods = false;        ///< the answer has the resources; always true on the socket
  /// Warnings from reading the pods, for the answer: see PodDocuments.
  std::vector<std::string> warnings = {};
};
/// Decides pods on a copy of the state, like Admit. Answer: Admissions with the pods.
struct PreviewAdmit {
  std::vector<PodSpec> pods;
  bool wants_trace = false;
  bool starts = false;  ///< each admitted pod's containers start, in order, before the next pod
  std::vector<std::string> warnings = {};  ///< see Admit
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
/// See NodeAgent::resize.
struct Resize {
  ResizeRequest request;
  bool wants_trace = false;  ///< the answer has the reasons, even for a rejection
};
/// Removes a pod, or only one of its containers if `container` is not empty.
struct Remove {
  PodUid pod;
  std::string container;
  agent::RunningProcesses running = agent::RunningProcesses::kRefuse;
};
/// See NodeAgent::release_unknown.
struct ReleaseUnknown {};
/// See admit_hooked, after agent::remove_abandoned.
struct AdmitHooked {
  PodSpec pod;
  agent::Adoption adoption;
  /// The container's first process, which must not exit before the container is admitted. nullopt:
  /// its runtime has not started one yet.
  std::optional<enforce::ProcessId> process;
};
/// See prepare_hooked.
struct PrepareHooked {
  PodSpec pod;
  std::string container;
  enforce::ProcessId creator;  ///< may end before or after it has made the container
};
/// See remove_hooked.
struct RemoveHooked {
  ContainerId container;
};
/// See agent::reconcile.
struct Reconcile {
  agent::PageMoves pages = agent::PageMoves::kOff;
};
/// See NodeAgent::checkpoint_journal.
struct CheckpointJournal {};
/// See NodeAgent::adopt.
struct Adopt {
  PodUid pod;
  agent::Adoption adoption;
};
/// Reads the comparison of the snapshot. Answer: Done if there is none.
/// Waits for no other request.
struct ReadComparison {};
/// Reads the kernel. Answer: NodeStatus.
struct ReadStatus {};
/// Answer: PodList.
struct ListPods {};
/// Reads the state of the service. Answer: ServiceReport. Waits for no other request.
struct ReadService {};

using Action =
    std::variant<Admit, Start, Attach, Remove, ReleaseUnknown, AdmitHooked, RemoveHooked, Reconcile,
                 CheckpointJournal, Adopt, ReadComparison, ReadService, Reconfigure, Defragment,
                 ReadStatus, ListPods, Resize, PrepareHooked, PreviewAdmit>;

/// Returns whether an action can change the node. False if it only reads, plans, or applies again
/// what is stored.
[[nodiscard]] bool can_change(const Action& action);

/// The largest number of search steps that a client may ask for, because other requests wait.
inline constexpr std::uint32_t kMostSteps = 10'000;
/// Limits of one action, so that none holds the agent for long. A kubelet runs 110 pods by default,
/// and hardly any runs more than 500.
inline constexpr std::size_t kMostPods = 512;
inline constexpr std::size_t kMostContainers = 2048;  ///< of all pods in the action
/// Checks the limits. Errors: kInvalidArgument, "5000 containers in one request: expected at most
/// 2048".
[[nodiscard]] Result<void> check_size(const std::vector<PodSpec>& pods);
/// Checks the pods of an action in the same way.
[[nodiscard]] Result<void> check_size(const Action& action);

}  // namespace pinfold::verbs
