#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/decide/keep.hpp"
#include "pinfold/nri_pods/known_pods.hpp"
#include "pinfold/nri_pods/recover.hpp"

/// What a plugin asks of the node agent and answers to the runtime, as values.
namespace pinfold::nri {

/// Whether pods may be admitted container by container. Errors: kUnsupported with the quirk
/// rejected_pod_keeps_resources: there a rejection ends the pod, as the kubelet then ends its
/// containers. Here they run.
[[nodiscard]] Result<void> check_node(const Node& node);

/// What the agent calls a container of a pod; nullopt if it does not have it.
[[nodiscard]] std::optional<ContainerId> find_container(const NodeState& state, const PodUid& uid,
                                                        const std::string& name);

/// What a runtime shows of a pod besides what is admitted of it.
struct ShownPod {
  std::optional<QosClass> qos;  ///< the kubelet's
  std::string why_shared;       ///< "" if a container of the pod gets exclusive CPUs
  Places places;                ///< of containers that run already

  friend bool operator==(const ShownPod&, const ShownPod&) = default;
};

/// What the node agent is asked to do, in this order.
struct AgentRequests {
  std::vector<PodUid> remove_pods;
  std::vector<ContainerId> remove_containers;
  std::vector<PodSpec> admit;
  /// Of pods in `admit`, and of Synchronize of all.
  std::map<PodUid, ShownPod> shown;
  /// For the log: why a pod that is admitted has nothing exclusive, wrong annotations.
  std::vector<std::string> notes;

  friend bool operator==(const AgentRequests&, const AgentRequests&) = default;
};

/// The pods of the agent, active and held, that the runtime does not have (any more), and
/// unannounced containers that have ended. The runtime has to have synchronized.
[[nodiscard]] AgentRequests plan_removal(const KnownPods& known, const NodeState& state);

/// For RUN_POD_SANDBOX: an announced pod is admitted before its first container.
/// Errors: those of recover.
[[nodiscard]] Result<AgentRequests> plan_sandbox(const api::PodSandbox& sandbox,
                                                 const Premises& premises, const NodeState& state);

struct CreatePlan {
  AgentRequests requests;
  ContainerId container;  ///< what the agent calls it once it has done them
};
/// For CreateContainer, before KnownPods::create.
/// Errors: those of recover; kUnsupported if the container has a cpuset: the kubelet's CPU manager
/// or another plugin has set it.
[[nodiscard]] Result<CreatePlan> plan_create(const KnownPods& known,
                                             const api::CreateContainerRequest& request,
                                             const Premises& premises, const NodeState& state);

/// For Synchronize: removes what the runtime does not have and admits what the agent does not have:
/// first the pods whose containers may have exclusive CPUs already, then the oldest ones. What the
/// agent has is not decided again. Pods with an error of recover are notes.
[[nodiscard]] AgentRequests plan_synchronize(const KnownPods& known, const Premises& premises,
                                             const NodeState& state);

struct DueUpdate {
  api::ContainerUpdate update;
  bool is_started = false;
};
/// The containers whose cpuset or CFS quota the runtime has otherwise than the state asks for: not
/// those that are being created, of which the runtime would lose the update, nor stopped ones.
[[nodiscard]] std::vector<DueUpdate> plan_updates(const KnownPods& known, const Node& node,
                                                  const NodeState& state);

/// The answer to UpdateContainer: the cpuset that the state asks for, in place of any other that
/// the container would get: the runtime also writes the one that it has on record. And no CFS quota
/// if its CPUs are exclusive: a kubelet that resizes a container sets one again.
[[nodiscard]] api::UpdateContainerResponse answer_update(const api::UpdateContainerRequest& request,
                                                         const Node& node, const NodeState& state);

/// The answer to CreateContainer: the cpuset of the container, and no CFS quota if its CPUs are
/// exclusive. Errors: kNotFound if the container is of no active pod.
[[nodiscard]] Result<api::CreateContainerResponse> answer_create(const Node& node,
                                                                 const NodeState& state,
                                                                 const ContainerId& container);

}  // namespace pinfold::nri
