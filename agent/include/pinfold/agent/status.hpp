#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/observed_container.hpp"

/// The desired and observed pods of an agent, for people and programs.
namespace pinfold::agent {

/// The desired and observed settings of one container.
struct ContainerStatus {
  ContainerResources resources;
  bool is_started = false;  ///< at least once since its pod was admitted
  enforce::GroupSettings desired;
  std::string cgroup;       ///< its name below the root: "pod<uid>/<container>"
  std::string cgroup_path;  ///< absolute, possibly of an adopted group; "" if nothing is enforced
  std::optional<ObservedContainer> observed;  ///< only if the kernel was read
  std::string why_shared;                     ///< why it has no exclusive CPUs; "" if it has some
  std::string problem;  ///< why `observed` differs from desired, or was not read; "" if it is ok
};
struct PodStatus {
  PodSpec spec;
  /// The kubelet's, even if admitted without limits; nullopt: unknown, as of a held pod.
  std::optional<QosClass> qos;
  std::string cgroup;
  std::string cgroup_path;                  ///< "" if nothing is enforced
  std::vector<ContainerStatus> containers;  ///< except removed ones
  std::string problem;  ///< the drift of the pod's own group; "" if none, or if not read
};

/// Returns a pod as desired by `state`, without reading the kernel. nullopt if it is not active.
[[nodiscard]] std::optional<PodStatus> desired_pod(const NodeAgent& agent, const AgentState& state,
                                                   const PodUid& uid);
/// Returns a pod of an agent, desired and observed. nullopt if it is not active.
[[nodiscard]] std::optional<PodStatus> pod_status(const NodeAgent& agent, const PodUid& uid);
/// Does the same with the layout of agent.desired(), for callers that ask for many pods.
[[nodiscard]] std::optional<PodStatus> pod_status(const NodeAgent& agent, const PodUid& uid,
                                                  const enforce::Layout& layout);
/// Returns one sentence per observed CPU quota, of a container or its parent group, that can
/// throttle a container with exclusive CPUs.
[[nodiscard]] std::vector<std::string> throttles(const PodStatus& pod);
/// Returns true if every container and the group of the pod are as desired.
[[nodiscard]] bool is_ok(const PodStatus& pod);

/// Finds the active pod with this UID, name or "namespace/name".
/// Errors: kNotFound; kInvalidArgument if several pods have the name.
[[nodiscard]] Result<PodUid> find_pod_uid(const NodeState& state, const std::string& pod);
[[nodiscard]] Result<PodUid> find_pod_uid(const NodeAgent& agent, const std::string& pod);
/// Finds the held pod with this UID, or an active pod as find_pod_uid does.
[[nodiscard]] Result<PodUid> find_pod_to_remove(const NodeAgent& agent, const std::string& pod);

/// A pod and the decision about it.
struct DecidedPod : PodStatus {
  bool is_held = false;                ///< only the kubelet's files name it
  std::optional<Rejection> rejection;  ///< nullopt: admitted, unless it is held
  std::vector<std::string> notes;      ///< of an answer: see AdmitOutcome

  [[nodiscard]] bool is_admitted() const { return !rejection && !is_held; }
};
/// Returns a pod that has no resources on the node, such as a rejected one.
[[nodiscard]] PodStatus pod_without_groups(const NodeAgent& agent, const PodSpec& spec);
/// Returns a pod as desired by `state`, without reading the kernel. A pod that is not active has no
/// containers.
[[nodiscard]] DecidedPod decided_pod(const NodeAgent& agent, const AgentState& state,
                                     const PodSpec& spec, std::optional<Rejection> rejection);
/// Returns the active pods in the order of their admission, then the held ones, known only by UID
/// and resources.
[[nodiscard]] std::vector<DecidedPod> decided_pods(const NodeAgent& agent);

/// The control groups that an agent enforces.
struct CgroupsStatus {
  std::string mode;  ///< "v2"
  std::string root;
  std::vector<std::string> warnings;
};
/// Returns nullopt if nothing is enforced.
[[nodiscard]] std::optional<CgroupsStatus> cgroups_status(const NodeAgent& agent);

/// Returns the JSON form of a pod: docs/operations.md.
[[nodiscard]] nlohmann::json to_json(const PodStatus& pod);

/// A container of a held pod, with its exclusive CPUs and its memory nodes.
struct HeldContainer {
  ContainerRef container;
  CpuSet cpus;            ///< empty: no exclusive CPUs
  enforce::NodeSet mems;  ///< empty: any
};

[[nodiscard]] std::vector<HeldContainer> held_containers(const Desired& desired,
                                                         const NodeState& state);

/// The requests of all pods for a resource, which a kubelet checks for OutOfcpu and similar
/// reasons.
struct RequestSum {
  std::string resource;  ///< "cpu", "memory" or "hugepages-2Mi"
  Quantity requested;
  Quantity allocatable;
};

/// The status of a node, as `pinfold status` shows it.
struct NodeStatus {
  std::optional<CgroupsStatus> cgroups;  ///< nullopt: nothing is enforced
  Profile profile = Profile::kFixed;
  ProfileSource profile_source = ProfileSource::kDefault;
  CpuSet shared_pool;  ///< empty: any CPU
  CpuSet reserved;
  CpuSet offline;
  std::vector<RequestSum> requests;
  std::vector<PodStatus> pods;
  std::vector<HeldContainer> held;  ///< of pods known only from the kubelet's files
  std::vector<enforce::ForeignGroup> foreign;
  std::vector<std::string> drift;
  std::vector<std::string> affected;         ///< effects of offline CPUs: see lost_cpus
  std::vector<std::string> machine_changes;  ///< see NodeAgent
  bool ok = true;                            ///< no drift, no CPU offline, and every pod is ok
};
/// Returns the status of a node. Errors: those of NodeAgent::find_drift.
[[nodiscard]] Result<NodeStatus> node_status(const NodeAgent& agent);
[[nodiscard]] nlohmann::json to_json(const NodeStatus& status);
[[nodiscard]] nlohmann::json to_json(const ReconcileReport& report);

}  // namespace pinfold::agent
