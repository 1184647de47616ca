#include <utility>

#include "judge.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"
#include "report.hpp"
#include "search.hpp"
#include "survey.hpp"

namespace pinfold {
namespace {

/// A starting kubelet admits its pods one after the other; one that it rejects does not count.
std::vector<ShortOfRequests> find_short(const Node& node, const NodeState& next) {
  std::vector<ShortOfRequests> found;
  if (node.config().profile == Profile::kFixed) return found;
  ActivePods admitted;
  for (const ActivePod& pod : next.pods) {
    if (auto why = find_shortage(node, admitted, pod.spec)) {
      found.push_back({pod.spec.uid, *std::move(why)});
    } else {
      admitted.push_back(pod);
    }
  }
  return found;
}

}  // namespace

Result<ReconfigurationPlan> plan_reconfiguration(const Node& from, const NodeState& state,
                                                 const Node& to, const PlanOptions& options) {
  if (const auto starts = to.check_node_allocatable(); !starts) {
    return fail(ErrorCode::kInvalidArgument, starts.error().error);
  }
  const NodeState current = release_stale(from, state);
  planning::Judge judge(to, current);
  const planning::SearchProblem problem = planning::survey(to, current, judge);
  planning::SearchRules rules;
  rules.evict = options.evict;
  rules.steps = options.steps;
  rules.same_rules = from.machine() == to.machine() && from.config() == to.config();
  rules.accepts = [&](const std::vector<planning::PodChoice>& choices) {
    return planning::starts(to, planning::assemble(problem, choices));
  };
  planning::Search search(problem, judge, std::move(rules));
  search.run();
  const auto& best = search.best();
  if (!best) {
    return fail(ErrorCode::kUnsupported, "found no state that a kubelet would start with");
  }

  ReconfigurationPlan plan;
  plan.cost = best->cost;
  plan.optimal = search.is_exhausted();
  plan.next = planning::assemble(problem, best->choices);
  plan.containers = planning::report(problem, judge, best->choices, plan.next);
  for (std::size_t i = 0; i < best->choices.size(); ++i) {
    if (best->choices[i].outcome == planning::Outcome::kEvicted) {
      plan.evicted.push_back(problem.pods[i].spec().uid);
    }
  }
  plan.evicted.insert(plan.evicted.end(), problem.held_evicted.begin(), problem.held_evicted.end());
  plan.short_of_requests = find_short(to, plan.next);
  return plan;
}

}  // namespace pinfold
