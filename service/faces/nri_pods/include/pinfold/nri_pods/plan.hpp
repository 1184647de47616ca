#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/decide/keep.hpp"
#include "pinfold/decide/resize.hpp"
#include "pinfold/nri_pods/known_pods.hpp"
#include "pinfold/nri_pods/recover.hpp"

/// Requests of a plugin to the node agent and answers to the runtime, as values.
namespace pinfold::nri {

/// Checks that pods may be admitted container by container. Errors: kUnsupported with the quirk
/// rejected_pod_keeps_resources: it counts on a kubelet that ends the containers of a rejected pod,
/// but here they run.
[[nodiscard]] Result<void> check_node(const Node& node);

/// Returns the agent's name of a container; nullopt if the agent does not have it.
[[nodiscard]] std::optional<ContainerId> find_container(const NodeState& state, const PodUid& uid,
                                                        const std::string& name);

/// Facts about a pod that the runtime shows, in addition to what is admitted.
struct ShownPod {
  std::optional<QosClass> qos;             ///< as the kubelet set it
  std::string why_shared;                  ///< empty if a container of the pod gets exclusive CPUs
  std::optional<quiet::QuietLevel> quiet;  ///< as its annotation asks; nullopt: it does not
  Places places;                           ///< of containers that already run

  friend bool operator==(const ShownPod&, const ShownPod&) = default;
};

/// Requests to the node agent, in the order of execution.
struct AgentRequests {
  std::vector<PodUid> remove_pods;
  std::vector<ContainerId> remove_containers;
  /// Running containers of pods in `admit` that share the CPUs of the pool from now on.
  std::vector<ContainerId> release;
  std::vector<PodSpec> admit;
  /// Facts about the pods in `admit`; from Synchronize, about all pods.
  std::map<PodUid, ShownPod> shown;
  /// Lines for the log: wrong annotations, and why an admitted pod has nothing exclusive.
  std::vector<std::string> notes;

  friend bool operator==(const AgentRequests&, const AgentRequests&) = default;
};

/// Plans the removal of pods of the agent, active and held, that the runtime does not have (any
/// more), and of unannounced containers that have ended. The runtime must have synchronized.
[[nodiscard]] AgentRequests plan_removal(const KnownPods& known, const NodeState& state);

/// Plans for RUN_POD_SANDBOX: an announced pod is admitted before its first container. Errors:
/// those of recover.
[[nodiscard]] Result<AgentRequests> plan_sandbox(const api::PodSandbox& sandbox,
                                                 const Premises& premises, const NodeState& state);

struct CreatePlan {
  AgentRequests requests;
  ContainerId container;  ///< the agent's name of it, once the requests are executed
};
/// Plans for CreateContainer; to be called before KnownPods::create.
/// Errors: those of recover; kUnsupported if the container has a cpuset, which the kubelet's CPU
/// manager or another plugin has set.
[[nodiscard]] Result<CreatePlan> plan_create(const KnownPods& known,
                                             const api::CreateContainerRequest& request,
                                             const Premises& premises, const NodeState& state);

/// Plans for Synchronize: removes what the runtime does not have, and admits what the agent does
/// not have: first pods whose containers may already have exclusive CPUs, then the oldest ones.
/// Pods of the agent are not decided again. Pods with an error of recover become notes.
[[nodiscard]] AgentRequests plan_synchronize(const KnownPods& known, const Premises& premises,
                                             const NodeState& state);

struct DueUpdate {
  api::ContainerUpdate update;
  bool is_started = false;
};
/// Returns updates for containers whose cpuset or CFS quota on the runtime's record differs from
/// the desired one. Excludes stopped containers and those being created, for which the runtime
/// would lose the update.
[[nodiscard]] std::vector<DueUpdate> plan_updates(const KnownPods& known, const Node& node,
                                                  const NodeState& state);

/// Returns the resize that UpdateContainer means: a kubelet that resizes a pod sends the CPU shares
/// and the CFS quota of the new amount. nullopt if the container has no exclusive CPUs, or if
/// shares and quota are those of its present amount.
[[nodiscard]] std::optional<ResizeRequest> find_resize(const api::UpdateContainerRequest& request,
                                                       const Node& node, const NodeState& state);
/// Answers UpdateContainer with the desired cpuset, because the runtime would otherwise also write
/// the one on its record. Clears the CFS quota if the container's CPUs are exclusive: a kubelet
/// that resizes a container sets one again.
[[nodiscard]] api::UpdateContainerResponse answer_update(const api::UpdateContainerRequest& request,
                                                         const Node& node, const NodeState& state);

/// Answers CreateContainer with the cpuset of the container, and without a CFS quota if its CPUs
/// are exclusive. Errors: kNotFound if the container belongs to no active pod.
[[nodiscard]] Result<api::CreateContainerResponse> answer_create(const Node& node,
                                                                 const NodeState& state,
                                                                 const ContainerId& container);

}  // namespace pinfold::nri
