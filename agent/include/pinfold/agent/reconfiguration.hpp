#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"

/// Plans for switching a node agent to another configuration or machine: docs/reconfigure.md.
namespace pinfold::agent {

struct StoredNode;

/// Reads the node that the state in a directory is for. Errors: kNotFound if the directory does not
/// record it; kCorrupt; those of Store::open_read_only.
[[nodiscard]] Result<StoredNode> read_stored_node(const AgentOptions& options);

/// The pod that a defragmentation makes room for.
struct Room {
  PodRef pod;
  /// Why the node rejects it now; nullopt: the node admits it, and nothing moves.
  std::optional<Rejection> rejection;
  bool is_possible = false;  ///< the node admits the pod after the moves; if not, nothing moves
  bool is_active = false;    ///< the pod is already admitted, and nothing moves
  /// Why no move can help, if the obstacle is one that no move can change.
  std::optional<Rejection> limit;
};

/// A planned reconfiguration.
struct Reconfiguration {
  /// "reservedSystemCPUs: '0' becomes '0-1'", "machine: CPUs 6-7 no longer exist".
  std::vector<std::string> differences;
  ReconfigurationPlan plan;
  /// Containers that keep none of their CPUs. They run in the shared pool for a moment, while their
  /// CPUs are swapped.
  std::vector<ContainerId> parked;
  /// The writes to the cpusets of containers that stay, in order: "cpuset.cpus := 0-1". Containers
  /// without a step have no entry.
  ContainerMap<std::vector<std::string>> steps;
  bool is_undo = false;      ///< the plan restores the previous state; nothing was searched for
  std::optional<Room> room;  ///< only of a defragmentation
  PodNames pods = {};        ///< the active pods
};

/// Returns the pod's name from `pods`, or its UID if it is missing there, as for a held pod.
[[nodiscard]] std::string pod_name(const Reconfiguration& planned, const PodUid& uid);

/// Plans what the pods of an agent get on the node `to`. Errors: those of
/// pinfold::plan_reconfiguration; kUnsupported while CPUs of `to` are offline.
[[nodiscard]] Result<Reconfiguration> plan_reconfiguration(const NodeAgent& agent, const Node& to,
                                                           const PlanOptions& options);

/// Plans the fewest moves after which the agent admits a pod that it rejects now, under
/// AdmissionChecks::kManagersAndRequests. NodeAgent::reconfigure(planned.plan.next) applies them.
/// Errors: kUnsupported while CPUs are offline; those of pinfold::plan_defragmentation.
[[nodiscard]] Result<Reconfiguration> plan_defragmentation(const NodeAgent& agent,
                                                           const PodSpec& pod, PlanOptions options);

/// Checks that a plan evicts no pod. Errors: kUnsupported with the pods' UIDs.
[[nodiscard]] Result<void> check_all_stay(const Reconfiguration& planned);

/// Plans the undo of the last reconfiguration: each pod gets back what it had before. `to` is made
/// from agent.before(), which must have a value. Errors: kUnsupported if pods or containers were
/// admitted since; kCorrupt if the earlier state cannot be read.
[[nodiscard]] Result<Reconfiguration> plan_undo(const NodeAgent& agent, const Node& to);

/// Returns the plan to undo a reconfiguration that was not committed: no container changes.
[[nodiscard]] Reconfiguration plan_nothing(const NodeAgent& agent);

/// Opens the agent of a state directory for a configuration. If the state is for another
/// configuration, reconfigures the agent first, on the machine of the state. Then adapts the state
/// to the current machine, if no container has to move for that.
/// Errors: those of open_agent; those of plan_reconfiguration and NodeAgent::reconfigure;
/// kUnsupported if pods could not stay.
[[nodiscard]] Result<NodeAgent> open_and_reconfigure(Machine machine, Config config,
                                                     AgentOptions options);

}  // namespace pinfold::agent
