// NodeAgent: another node, or another state of the same pods.

#include <memory>
#include <utility>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/measured_steps.hpp"
#include "pinfold/agent/node_agent.hpp"

namespace pinfold::agent {

/// Commits the state that the pods have on a node from now on.
Result<void> NodeAgent::store_on(const Node& to, NodeState next) {
  AgentState after = state();
  after.node = std::move(next);
  remove_inactive(after);
  PINFOLD_TRY_WRAP(kept_.replace_node(*node_, to, std::move(after)), "reconfigure");
  log(LogLevel::kInfo, "reconfigured");
  return {};
}

ReconfigureOutcome NodeAgent::apply_and_measure() {
  if (!enforced_) return {};
  const Desired target = desired();
  StepMeter meter(
      target, [this] { return now(); },
      [this](const ContainerId& id) { return enforced_->pages_of(id); });
  ReconfigureOutcome outcome;
  outcome.not_enforced =
      apply([&](const enforce::Step& step, StepMoment moment) { meter.watch(step, moment); });
  outcome.measured = meter.results();
  return outcome;
}

Result<ReconfigureOutcome> NodeAgent::reconfigure(Node to, NodeState next,
                                                  RunningProcesses running) {
  if (enforced_) {
    for (const ActivePod& pod : state().node.pods) {
      const PodUid& uid = pod.spec.uid;
      if (next.find(uid) != nullptr) continue;
      PINFOLD_TRY(enforced_->make_empty(enforced_->groups_of_pod(uid), running));
    }
  }
  PINFOLD_TRY(store_on(to, std::move(next)));
  node_ = std::make_shared<const Node>(std::move(to));
  offline_ &= node_->machine().all_cpus();  // the others are no longer CPUs of the node
  return apply_and_measure();
}

Result<ReconfigureOutcome> NodeAgent::reconfigure(NodeState next) {
  PINFOLD_TRY(store_on(*node_, std::move(next)));
  return apply_and_measure();
}

}  // namespace pinfold::agent
