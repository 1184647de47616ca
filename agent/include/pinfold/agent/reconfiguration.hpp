#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"

/// A node agent that goes on with another configuration or machine: docs/reconfigure.md.
namespace pinfold::agent {

/// The node that the state of a directory is for. Errors: kNotFound if the directory does not say;
/// kCorrupt; those of Store::open_read_only.
[[nodiscard]] Result<StoredNode> read_stored_node(const AgentOptions& options);

/// The pod that a defragmentation makes room for.
struct Room {
  std::string pod;  ///< "default/web"
  /// Why the node rejects it now; nullopt: the node admits it, and nothing moves.
  std::optional<Rejection> rejection;
  bool is_possible = false;  ///< the node admits the pod after the moves; if not, nothing moves
  bool is_active = false;    ///< the pod has what it needs already, and nothing moves
  /// Why no move can help, if something is in the way that no move changes.
  std::optional<Rejection> limit;
};

/// What a reconfiguration does, before it is applied.
struct Reconfiguration {
  /// "reservedSystemCPUs: '0' becomes '0-1'", "machine: CPUs 6-7 are gone".
  std::vector<std::string> differences;
  ReconfigurationPlan plan;
  /// Containers that have no CPU both before and after: in between they run on CPUs that are
  /// exclusive to no container.
  std::vector<ContainerId> parked;
  /// What is written to the cpusets of containers that stay, in order: "cpuset.cpus := 0-1". Of
  /// containers without a step there is no entry.
  ContainerMap<std::vector<std::string>> steps;
  bool is_undo = false;      ///< the plan is what was there before: nothing was searched for
  std::optional<Room> room;  ///< of a defragmentation, on the same node
  /// "default/db", of active pods.
  std::map<PodUid, std::string> pods = {};
};

/// The pod's entry in `pods`; the UID of one that has none, such as a held pod.
[[nodiscard]] const std::string& pod_name(const Reconfiguration& planned, const PodUid& uid);

/// Plans how the pods of an agent go on. Errors: those of plan_reconfiguration; kUnsupported while
/// CPUs of `to` are offline.
[[nodiscard]] Result<Reconfiguration> plan_reconfiguration(const NodeAgent& agent, const Node& to,
                                                           const PlanOptions& options);

/// Plans the fewest moves after which the agent admits a pod that it rejects now, with
/// AdmissionChecks::kManagersAndRequests. NodeAgent::reconfigure(planned.plan.next) applies it.
/// Errors: kUnsupported while CPUs are offline; those of pinfold::plan_defragmentation.
[[nodiscard]] Result<Reconfiguration> plan_defragmentation(const NodeAgent& agent,
                                                           const PodSpec& pod, PlanOptions options);

/// Errors: kUnsupported if a plan lets pods go, with their names.
[[nodiscard]] Result<void> check_all_stay(const Reconfiguration& planned);

/// The way back from the last reconfiguration: each pod gets what it had then. `to` is made of
/// agent.before(), which must have a value. Errors: kUnsupported if pods or containers were
/// admitted since; kCorrupt if what was kept cannot be read.
[[nodiscard]] Result<Reconfiguration> plan_undo(const NodeAgent& agent, const Node& to);

/// The way back from a reconfiguration that was not committed: every container has what it has.
[[nodiscard]] Reconfiguration plan_nothing(const NodeAgent& agent);

/// The control groups that the pods of an agent had before the last reconfiguration; none if there
/// was none, or if its node cannot be made any more.
[[nodiscard]] enforce::Layout earlier_layout(const NodeAgent& agent);

/// Opens the agent of a state directory for a configuration. If the directory says that its state
/// is for another one, the agent goes on with the new one first; the machine is the same. Then it
/// takes over where the machine differs from the one of the state, if no container moves for it.
/// Errors: those of open_agent; kUnsupported if pods could not stay.
[[nodiscard]] Result<NodeAgent> open_and_reconfigure(Machine machine, Config config,
                                                     AgentOptions options);

/// What differs between two nodes, one sentence for each; empty if they are the same.
[[nodiscard]] std::vector<std::string> differences(const Machine& machine_before,
                                                   const Config& config_before,
                                                   const Machine& machine_after,
                                                   const Config& config_after);

}  // namespace pinfold::agent
