#include <fmt/format.h>

#include <utility>

#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostMovesNamed = 3;

/// Returns "shop/db/main (CPUs 2-3 -> 8-9)".
std::string move_text(const NodeState& state, const PlannedContainer& move) {
  std::string text = name_of(state, move.id.pod) + "/" + move.id.name;
  if (move.cpus_moved == 0) return text;
  return text + fmt::format(" (CPUs {} -> {})", move.cpus_before->to_string(),
                            move.cpus_after->to_string());
}

}  // namespace

std::vector<Remedy> container_moves(const Failure& failure, Trials& trials) {
  if (failure.step.source == kRequests) return {};  // no move changes what pods request
  PlanOptions options;
  options.steps = kMoveSteps;
  options.checks = AdmissionChecks::kManagersAndRequests;
  auto plan = plan_defragmentation(failure.node, failure.state, failure.pod, options);
  if (!plan || !plan->possible || plan->moves.empty()) return {};
  if (!plan->optimal && plan->moves.size() > 1) {
    options.steps = kMoreMoveSteps;
    plan = plan_defragmentation(failure.node, failure.state, failure.pod, options);
    if (!plan || !plan->possible) return {};
  }
  if (!trials.admits(failure.node, std::move(plan->next), failure.pod)) return {};
  std::vector<std::string> names;
  for (const PlannedContainer& move : plan->moves) {
    if (names.size() == kMostMovesNamed) break;
    names.push_back(move_text(failure.state, move));
  }
  if (const std::size_t more = plan->moves.size() - names.size(); more > 0) {
    names.push_back(fmt::format("{} more container{}", more, more == 1 ? "" : "s"));
  }
  return {Remedy{Remedy::Kind::kMoves,
                 listed(names) + (plan->moves.size() == 1 ? " moves" : " move"),
                 std::nullopt,
                 {},
                 std::nullopt,
                 std::move(plan->moves)}};
}

}  // namespace pinfold::explain_detail
