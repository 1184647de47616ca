#include "pinfold/explain/remedies.hpp"

#include <algorithm>
#include <utility>

#include "trials.hpp"

namespace pinfold {

explain_detail::FoundRemedies explain_detail::all_remedies(const Failure& failure) {
  constexpr int kMostTrials = 2000;  // for each kind
  FoundRemedies found;
  for (auto* const find :
       {request_changes, container_moves, running_requests, pods_in_the_way, setting_changes}) {
    Trials trials(kMostTrials);
    for (Remedy& remedy : find(failure, trials)) found.remedies.push_back(std::move(remedy));
    found.may_be_moves = found.may_be_moves || trials.has_ended_early();
  }
  std::stable_partition(found.remedies.begin(), found.remedies.end(),
                        [](const Remedy& remedy) { return !is_harmful(remedy); });
  return found;
}

std::vector<Remedy> find_remedies(const Node& node, const NodeState& state, const PodSpec& pod) {
  const NodeState current = release_stale(node, state);
  const auto failure = explain_detail::find_failure(node, current, pod, nullptr);
  return failure ? explain_detail::all_remedies(*failure).remedies : std::vector<Remedy>{};
}

}  // namespace pinfold
