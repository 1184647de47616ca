#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "judge.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"
#include "report.hpp"
#include "search.hpp"
#include "survey.hpp"

namespace pinfold {
namespace {

/// Returns the state after the moves. The node keeps running, so affinities of unmoved containers
/// stay.
NodeState moved_state(const planning::SearchProblem& problem,
                      std::vector<planning::PodChoice> choices) {
  choices.pop_back();  // the last choice is for the pod to be admitted
  NodeState next = planning::assemble(problem, choices);
  next.affinity = problem.state->affinity;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const planning::PodCase& pod = problem.pods[i];
    for (const auto& [name, part] : choices[i].after) {
      const auto before = planning::part_of(pod.before, name);
      if (planning::is_moved(before, part)) next.affinity.erase({pod.spec().uid, name});
    }
  }
  return next;
}

/// Returns the shortage of requests, which no move changes.
std::optional<Rejection> shortage_of(const Node& node, const NodeState& state, const PodSpec& pod,
                                     AdmissionChecks checks) {
  if (checks == AdmissionChecks::kManagers) return std::nullopt;
  return find_shortage(node, state.pods, pod, others_held(state, pod.uid));
}

/// Returns whether every pod can have what its choice gives it.
bool is_possible(const planning::SearchProblem& problem,
                 const std::vector<planning::PodChoice>& choices) {
  planning::Board board = problem.board;
  for (std::size_t i = 0; i + 1 < choices.size(); ++i) {  // the last one is decided
    const planning::PodChoice& choice = choices[i];
    if (!planning::take_verbatim(*problem.node, problem.pods[i].spec().uid, choice.after,
                                 choice.whole_after, board)) {
      return false;
    }
  }
  return true;
}

PlanCost total_cost(const planning::SearchProblem& problem,
                    const std::vector<planning::PodChoice>& choices) {
  using planning::operator+;
  PlanCost cost;
  for (std::size_t i = 0; i + 1 < choices.size(); ++i) {
    cost = cost + planning::cost_of_moves(problem.pods[i], choices[i].after);
  }
  return cost;
}

using Accepts = std::function<bool(const std::vector<planning::PodChoice>&)>;

/// Drops moves without which the pod fits as well: a search that ends early may leave some.
planning::Solution without_needless_moves(const planning::SearchProblem& problem,
                                          planning::Solution solution, const Accepts& accepts) {
  for (std::size_t i = 0; i + 1 < solution.choices.size(); ++i) {
    const planning::PodCase& pod = problem.pods[i];
    if (planning::cost_of_moves(pod, solution.choices[i].after) == PlanCost{}) continue;
    auto fewer = solution.choices;
    fewer[i] = {planning::Outcome::kPlaced, pod.before, pod.whole_before};
    if (!is_possible(problem, fewer) || !accepts(fewer)) continue;
    solution = {fewer, total_cost(problem, fewer)};
  }
  return solution;
}

/// Returns the cheapest move of one pod with which the node admits the new one; nullopt if a tenth
/// of the steps for each pod finds none.
std::optional<planning::Solution> one_pod_moved(planning::SearchProblem problem,
                                                planning::Judge& judge,
                                                planning::SearchRules rules) {
  problem.pods.pop_back();  // the pod to be admitted
  rules.accepts = [accepts = std::move(rules.accepts)](auto choices) {
    choices.emplace_back();
    return accepts(choices);
  };
  const std::size_t most = std::min(problem.pods.size(), rules.steps);
  rules.steps = std::max<std::size_t>(rules.steps / 10, 1);
  std::optional<planning::Solution> best;
  for (std::size_t i = 0; i < most; ++i) {
    if (problem.pods[i].units.empty()) continue;
    rules.only = i;
    planning::Search search(problem, judge, rules);
    search.run();
    const auto& one = search.best();
    if (one && (!best || one->cost < best->cost)) best = one;
  }
  if (best) best->choices.emplace_back();
  return best;
}

/// Returns how many steps a search may take in about the same time on any machine: each compares
/// all sets of NUMA nodes.
std::size_t steps_on(const Machine& machine, std::size_t steps) {
  constexpr unsigned kMostAtFullSpeed = 12;  // NUMA nodes
  constexpr unsigned kMostCounted = 30;
  const auto count = std::min(static_cast<unsigned>(machine.numa_count()), kMostCounted);
  const unsigned halvings = count > kMostAtFullSpeed ? count - kMostAtFullSpeed : 0;
  return std::max<std::size_t>(steps >> halvings, 1);
}

bool admits(const Node& node, NodeState state, const PodSpec& pod, AdmissionChecks checks) {
  return std::holds_alternative<Admitted>(
      decide(node, std::move(state), pod, nullptr, nullptr, checks));
}

}  // namespace

Result<DefragmentationPlan> plan_defragmentation(const Node& node, const NodeState& state,
                                                 const PodSpec& pod, const PlanOptions& options) {
  if (state.find(pod.uid) != nullptr || state.held.contains(pod.uid)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pod '{}': expected a pod that is neither active nor held on this node",
                            pod.uid));
  }
  DefragmentationPlan plan;
  plan.next = state;
  Decision decision = decide(node, state, pod, nullptr, nullptr, options.checks);
  auto* const rejected = std::get_if<Rejected>(&decision);
  plan.possible = rejected == nullptr;
  plan.optimal = plan.possible;
  if (plan.possible) return plan;
  plan.rejection = std::move(rejected->why);

  const NodeState current = release_stale(node, state);
  planning::Judge judge(node, current);
  const ActivePod target{pod, {}};
  planning::PodCase pod_case = planning::survey(node, current, target, judge);
  if (pod_case.rejection) {
    auto next_to_others =
        planning::survey(node, current, target, judge, planning::Neighbours::kOnTheSameNodes);
    if (!next_to_others.rejection) pod_case = std::move(next_to_others);
  }
  plan.limit =
      pod_case.rejection ? pod_case.rejection : shortage_of(node, state, pod, options.checks);
  if (plan.limit) {
    plan.optimal = true;
    return plan;
  }
  planning::SearchProblem problem = planning::survey(node, current, judge);
  problem.pods.push_back(std::move(pod_case));
  planning::SearchRules rules;
  rules.may_lose = false;
  rules.same_rules = true;
  rules.steps = steps_on(node.machine(), options.steps);
  const auto accepts = [&](const std::vector<planning::PodChoice>& choices) {
    return admits(node, moved_state(problem, choices), pod, options.checks);
  };
  rules.accepts = accepts;
  planning::Search search(problem, judge, rules, problem.pods.size() - 1);
  search.run();
  plan.optimal = search.is_exhausted();
  std::optional<planning::Solution> best = search.best();
  if (!plan.optimal) {
    if (best) best = without_needless_moves(problem, *std::move(best), accepts);
    auto one = one_pod_moved(problem, judge, std::move(rules));
    if (one && (!best || one->cost < best->cost)) best = std::move(one);
  }
  if (!best) return plan;
  plan.possible = true;
  plan.cost = best->cost;
  plan.next = moved_state(problem, best->choices);
  auto choices = std::move(best->choices);
  choices.pop_back();
  for (PlannedContainer& container : planning::report(problem, judge, choices, plan.next)) {
    if (container.change == Change::kMoved) plan.moves.push_back(std::move(container));
  }
  return plan;
}

}  // namespace pinfold
