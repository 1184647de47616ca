#include "plan_model.hpp"

#include <utility>

#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/enforce/plan.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"

namespace pinfold::world {
namespace {

ExpectedPlan failed(std::string why) { return {{}, false, std::move(why)}; }

/// Returns the plan of an undo: each pod gets its old resources; pods that have ended since do not
/// return.
ExpectedPlan expect_undo(const NodeState& state, const Before& before) {
  const auto to = agent::make_node(before.machine, before.config);
  if (!to) return failed(to.error().message);
  for (const ActivePod& pod : state.pods) {
    if (before.state.find(pod.spec.uid) == nullptr) return failed("a pod was admitted since");
  }
  NodeState next = state;
  next.cpu = CpuState{before.state.cpu.checkpoint()};
  next.cpu.baselines = {};  // the files of before have none
  to->cpu().move_baselines(state.cpu.baselines, next.cpu);
  next.memory = MemoryState{before.state.memory.checkpoint()};
  next.affinity.clear();
  next = release_stale(*to, std::move(next));
  for (const auto& entry : state.cpu.assignments) {
    const CpuSet* const had = next.cpu.assignments.find(entry.id());
    const bool divides = state.cpu.pods.contains(entry.pod) || next.cpu.pods.contains(entry.pod);
    if (!divides && had != nullptr && had->size() != entry.value.size()) {
      return failed("one was resized since");
    }
  }
  for (const PodUid& uid : state.held) {
    const auto earlier = containers_with_assignments(next, uid);
    if (earlier.size() < containers_with_assignments(state, uid).size()) {
      return failed("a held pod has more than it had");
    }
  }
  return {std::move(next), true, ""};
}

ExpectedPlan expect_reconfiguration(const Node& node, const NodeState& state, const CpuSet& offline,
                                    const verbs::Reconfigure& request,
                                    const std::optional<Before>& before) {
  if (request.undo) return before ? expect_undo(state, *before) : failed("nothing was before");
  const auto to =
      agent::make_node(node.machine(), config_after(node, verbs::Action(request), before));
  if (!to) return failed(to.error().message);
  if (!offline.empty()) return failed("CPUs are offline");
  auto plan = plan_reconfiguration(node, state, *to);
  if (!plan) return failed(plan.error().message);
  return {std::move(plan->next), plan->evicted.empty(), ""};
}

ExpectedPlan expect_defragmentation(const Node& node, const NodeState& state, const CpuSet& offline,
                                    const verbs::Defragment& request) {
  if (state.find(request.pod.uid) != nullptr) return {state, false, ""};
  if (!offline.empty()) return failed("CPUs are offline");
  PlanOptions options;
  options.steps = request.steps;
  options.checks = AdmissionChecks::kManagersAndRequests;
  auto plan = plan_defragmentation(node, state, request.pod, options);
  if (!plan) return failed(plan.error().message);
  return {std::move(plan->next), plan->rejection && plan->possible, ""};
}

}  // namespace

ExpectedPlan expect_plan(const Node& node, const NodeState& state, const CpuSet& offline,
                         const verbs::Action& request, const std::optional<Before>& before) {
  if (const auto* const one = std::get_if<verbs::Reconfigure>(&request)) {
    return expect_reconfiguration(node, state, offline, *one, before);
  }
  return expect_defragmentation(node, state, offline, std::get<verbs::Defragment>(request));
}

bool can_move(const Node& node, const agent::AgentState& from, const Node& to,
              const agent::AgentState& after) {
  return enforce::plan(desired_layout(node, from, {}), desired_layout(to, after, {}),
                       node.machine().all_cpus())
      .has_value();
}

bool is_repetition(const Node& node, const NodeState& state, const Config& to,
                   const NodeState& next) {
  return node.config() == to && state.cpu.checkpoint() == next.cpu.checkpoint() &&
         state.memory.checkpoint() == next.memory.checkpoint();
}

Config config_after(const Node& node, const verbs::Action& request,
                    const std::optional<Before>& before) {
  const auto* const one = std::get_if<verbs::Reconfigure>(&request);
  if (one == nullptr) return node.config();
  if (one->undo) return before ? before->config : node.config();
  Config config = parse_config(one->config.value()).value().config;
  config.profile = node.config().profile;
  return config;
}

}  // namespace pinfold::world
