#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/node_agent.hpp"

/// What an agent can tell of its pods, for people and programs.
namespace pinfold::agent {

/// One container as decided and as the kernel has it.
struct ContainerView {
  ContainerResources decided;
  enforce::Group wanted;
  std::string cgroup;  ///< relative to the root
  std::optional<SeenContainer> seen;
  std::string problem;  ///< why `seen` is absent or not as wanted; "": all is well
};
struct PodView {
  PodSpec spec;
  QosClass qos = QosClass::kBestEffort;
  std::vector<ContainerView> containers;  ///< without those that are gone
};

/// A pod as a state has it, without a look at the kernel. nullopt for a pod that is not active.
[[nodiscard]] std::optional<PodView> decided_pod(const Node& node, const AgentState& state,
                                                 const enforce::KernelFacts& facts,
                                                 const std::string& pod_uid);
/// A pod of an agent, and what the kernel has for it. nullopt for a pod that is not active.
[[nodiscard]] std::optional<PodView> view_pod(NodeAgent& agent, const std::string& pod_uid);
[[nodiscard]] bool is_well(const PodView& pod);

/// The pod with this UID, name or "namespace/name".
/// Errors: kNotFound; kInvalidArgument if several pods have the name.
[[nodiscard]] Result<std::string> find_pod_uid(const NodeAgent& agent, const std::string& pod);

/// As docs/operations.md describes an element of `pods`.
[[nodiscard]] nlohmann::json to_json(const PodView& pod, NodeAgent& agent);
/// {"mode", "root", "warnings"}; null if nothing is enforced.
[[nodiscard]] nlohmann::json cgroups_json(NodeAgent& agent);

/// A whole node: what `pinfold status` shows.
struct NodeView {
  CpuSet shared_pool;  ///< empty: any
  CpuSet reserved;
  std::vector<PodView> pods;
  std::vector<std::string> drift;
  std::vector<std::string> affected;  ///< by CPUs that are offline
  bool is_good = true;                ///< no drift, no CPU offline, and every pod is well
};
/// Errors: those of NodeAgent::find_drift.
[[nodiscard]] Result<NodeView> view_node(NodeAgent& agent);
[[nodiscard]] nlohmann::json to_json(const NodeView& view, NodeAgent& agent);
/// {"drift", "steps", "remaining", "ok"}.
[[nodiscard]] nlohmann::json to_json(const ReconcileReport& report);

}  // namespace pinfold::agent
