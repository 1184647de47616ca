#pragma once

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

/// What a reconfiguration does, before it is applied.
struct Reconfiguration {
  /// "reservedSystemCPUs: '0' becomes '0-1'", "machine: CPUs 6-7 are gone".
  std::vector<std::string> differences;
  ReconfigurationPlan plan;
  /// Containers that have no CPU both before and after: in between they run on CPUs that are
  /// exclusive to no container.
  std::vector<ContainerId> parked;
  bool is_undo = false;  ///< the plan is what was there before: nothing was searched for
};

/// Plans how the pods of an agent go on. Errors: those of plan_reconfiguration.
[[nodiscard]] Result<Reconfiguration> plan_reconfiguration(const NodeAgent& agent, const Node& to,
                                                           const PlanOptions& options);

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
/// is for another one, the agent goes on with the new one first; the machine is the same.
/// Errors: those of open_agent; kUnsupported if pods could not stay.
[[nodiscard]] Result<NodeAgent> open_and_reconfigure(Machine machine, Config config,
                                                     AgentOptions options);

/// What differs between two nodes, one sentence for each; empty if they are the same.
[[nodiscard]] std::vector<std::string> differences(const Machine& machine_before,
                                                   const Config& config_before,
                                                   const Machine& machine_after,
                                                   const Config& config_after);

}  // namespace pinfold::agent
