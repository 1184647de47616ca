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
  std::string cgroup;                         ///< relative to the root
  std::optional<ObservedContainer> observed;  ///< without a value in a desired_pod
  std::string problem;  ///< why `observed` has no value or is not as desired; "": it is
};
struct PodStatus {
  PodSpec spec;
  QosClass qos = QosClass::kBestEffort;
  std::vector<ContainerStatus> containers;  ///< without those that are gone
};

/// A pod as a state has it, without a look at the kernel. nullopt for a pod that is not active.
[[nodiscard]] std::optional<PodStatus> desired_pod(const Node& node, const AgentState& state,
                                                   const enforce::KernelFacts& facts,
                                                   const PodUid& uid);
/// A pod of an agent, and what the kernel has for it. nullopt for a pod that is not active.
[[nodiscard]] std::optional<PodStatus> pod_status(NodeAgent& agent, const PodUid& uid);
[[nodiscard]] bool is_ok(const PodStatus& pod);

/// The pod with this UID, name or "namespace/name".
/// Errors: kNotFound; kInvalidArgument if several pods have the name.
[[nodiscard]] Result<PodUid> find_pod_uid(const NodeAgent& agent, const std::string& pod);

/// As docs/operations.md describes an element of `pods`.
[[nodiscard]] nlohmann::json to_json(const PodStatus& pod, NodeAgent& agent);
/// {"mode", "root", "warnings"}; null if nothing is enforced.
[[nodiscard]] nlohmann::json cgroups_json(NodeAgent& agent);

/// A whole node: what `pinfold status` shows.
struct NodeStatus {
  CpuSet shared_pool;  ///< empty: any
  CpuSet reserved;
  std::vector<PodStatus> pods;
  std::vector<std::string> drift;
  std::vector<std::string> affected;  ///< by CPUs that are offline
  bool ok = true;                     ///< no drift, no CPU offline, and every pod is well
};
/// Errors: those of NodeAgent::find_drift.
[[nodiscard]] Result<NodeStatus> node_status(NodeAgent& agent);
[[nodiscard]] nlohmann::json to_json(const NodeStatus& view, NodeAgent& agent);
/// {"drift", "steps", "remaining", "ok"}.
[[nodiscard]] nlohmann::json to_json(const ReconcileReport& report);

}  // namespace pinfold::agent
