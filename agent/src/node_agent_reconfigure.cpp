// NodeAgent: switches to another node, or to another state of the same pods.

#include <memory>
#include <utility>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/measured_steps.hpp"
#include "pinfold/agent/node_agent.hpp"

namespace pinfold::agent {

ReconfigureOutcome NodeAgent::apply_and_measure() {
  if (!enforced_) return {};
  const Desired target = desired();
  StepMeter meter(
      target, [this] { return now(); },
      [this](const ContainerId& id) { return enforced_->pages_of(id); });
  ReconfigureOutcome outcome;
  outcome.not_enforced = apply(std::nullopt, [&](const enforce::Step& step, StepMoment moment) {
    meter.watch(step, moment);
  });
  outcome.measured = meter.results();
  return outcome;
}

Result<ReconfigureOutcome> NodeAgent::go_on(std::shared_ptr<const Node> to, NodeState next,
                                            RunningProcesses running) {
  AgentState after = state();
  after.node = std::move(next);
  remove_inactive(after);
  const CpuSet offline = offline_ & to->machine().all_cpus();  // ignores CPUs that `to` lost
  if (enforced_) {
    (void)apply(std::nullopt);  // completes an interrupted one, so that the layout is known
    PINFOLD_TRY(enforced_->check_reachable(make_desired(*to, after, enforced_->facts(), offline)));
    for (const ActivePod& pod : state().node.pods) {
      const PodUid& uid = pod.spec.uid;
      if (after.node.find(uid) != nullptr) continue;
      PINFOLD_LET(const auto groups, enforced_->groups_of_pod(uid));
      PINFOLD_TRY(enforced_->make_empty(groups, running));
    }
  }
  enforce::Layout earlier = desired().layout;
  PINFOLD_TRY_WRAP(kept_.replace_node(*node_, *to, std::move(after)), "reconfigure");
  earlier_ = std::move(earlier);
  if (!is_same_machine(node_->machine(), to->machine(), MemorySizes::kCount)) observed_.reset();
  node_ = std::move(to);
  offline_ = offline;
  log(LogLevel::kInfo, "reconfigured");
  return apply_and_measure();
}

Result<ReconfigureOutcome> NodeAgent::reconfigure(Node to, NodeState next,
                                                  RunningProcesses running) {
  return go_on(std::make_shared<const Node>(std::move(to)), std::move(next), running);
}

Result<ReconfigureOutcome> NodeAgent::reconfigure(NodeState next) {
  return go_on(node_, std::move(next), RunningProcesses::kRefuse);
}

}  // namespace pinfold::agent
