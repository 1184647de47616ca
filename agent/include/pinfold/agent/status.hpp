#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/node_agent.hpp"

/// The pods of an agent as desired and as observed, for people and programs.
namespace pinfold::agent {

/// One container as desired and as observed.
struct ContainerStatus {
  ContainerResources resources;
  enforce::GroupSettings desired;
  std::string cgroup;       ///< its name below the root: "pod<uid>/<container>"
  std::string cgroup_path;  ///< absolute, also of an adopted group; "" if nothing is enforced
  std::optional<ObservedContainer> observed;  ///< only if the kernel was asked
  std::string why_shared;                     ///< why it has no exclusive CPUs; "": it has some
  std::string problem;  ///< why `observed` is not as desired, or could not be read; "": it is
};
struct PodStatus {
  PodSpec spec;
  QosClass qos = QosClass::kBestEffort;  ///< the kubelet's, also of a pod admitted without limits
  std::string cgroup;
  std::string cgroup_path;                  ///< "" if nothing is enforced
  std::vector<ContainerStatus> containers;  ///< without removed ones
  std::string problem;  ///< how the pod's own group is not as desired; "": it is, or was not read
};

/// A pod as `state` desires it; the kernel is not asked. nullopt for a pod that is not active.
[[nodiscard]] std::optional<PodStatus> desired_pod(const NodeAgent& agent, const AgentState& state,
                                                   const PodUid& uid);
/// A pod of an agent, as desired and as observed. nullopt for a pod that is not active.
[[nodiscard]] std::optional<PodStatus> pod_status(const NodeAgent& agent, const PodUid& uid);
/// The same with the layout of agent.desired(), for a caller that asks for many pods.
[[nodiscard]] std::optional<PodStatus> pod_status(const NodeAgent& agent, const PodUid& uid,
                                                  const enforce::Layout& layout);
/// One sentence for each limit of CPU time, of a container or of its pod, that can throttle a
/// container with exclusive CPUs, by what was observed.
[[nodiscard]] std::vector<std::string> throttles(const PodStatus& pod);
/// True if every container, and the group of the pod, is as desired.
[[nodiscard]] bool is_ok(const PodStatus& pod);

/// The active pod with this UID, name or "namespace/name".
/// Errors: kNotFound; kInvalidArgument if several pods have the name.
[[nodiscard]] Result<PodUid> find_pod_uid(const NodeAgent& agent, const std::string& pod);
/// The same, or the held pod with this UID.
[[nodiscard]] Result<PodUid> find_pod_to_remove(const NodeAgent& agent, const std::string& pod);

/// An element of `pods` in docs/operations.md.
[[nodiscard]] nlohmann::json to_json(const PodStatus& pod);
/// {"mode", "root", "warnings"}; null if nothing is enforced.
[[nodiscard]] nlohmann::json cgroups_json(const NodeAgent& agent);

/// What a container of a held pod has: the CPUs and memory nodes are exclusive to it.
struct HeldContainer {
  ContainerId id;
  CpuSet cpus;            ///< empty: no exclusive CPUs
  enforce::NodeSet mems;  ///< empty: any
};

[[nodiscard]] std::vector<HeldContainer> held_containers(const Desired& desired);

/// A whole node: what `pinfold status` shows.
struct NodeStatus {
  CpuSet shared_pool;  ///< empty: any CPU
  CpuSet reserved;
  CpuSet offline;
  std::vector<PodStatus> pods;
  std::vector<HeldContainer> held;  ///< of pods that only the kubelet's files name
  std::vector<enforce::ForeignGroup> foreign;
  std::vector<std::string> drift;
  std::vector<std::string> affected;         ///< by CPUs that are offline: see lost_cpus
  std::vector<std::string> machine_changes;  ///< see NodeAgent
  bool ok = true;                            ///< no drift, no CPU offline, and every pod is ok
};
/// Errors: those of NodeAgent::find_drift.
[[nodiscard]] Result<NodeStatus> node_status(const NodeAgent& agent);
/// With what cgroups_json gives as "cgroups".
[[nodiscard]] nlohmann::json to_json(const NodeStatus& status, const NodeAgent& agent);
/// {"drift", "steps", "remaining", "notes", "ok"}.
[[nodiscard]] nlohmann::json to_json(const ReconcileReport& report);

}  // namespace pinfold::agent
