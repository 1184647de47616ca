#include "pinfold/explain/remedies.hpp"

#include <algorithm>
#include <utility>

#include "trials.hpp"

namespace pinfold {

std::vector<Remedy> find_remedies(const Node& node, const NodeState& state, const PodSpec& pod) {
  using namespace explain_detail;
  constexpr int kMostTrials = 2000;  // for each kind
  const NodeState current = release_stale(node, state);
  const auto failure = find_failure(node, current, pod, nullptr);
  std::vector<Remedy> all;
  if (!failure) return all;
  for (auto* const find :
       {request_changes, container_moves, running_requests, pods_in_the_way, setting_changes}) {
    Trials trials(kMostTrials);
    for (Remedy& remedy : find(*failure, trials)) all.push_back(std::move(remedy));
  }
  std::stable_partition(all.begin(), all.end(),
                        [](const Remedy& remedy) { return !is_harmful(remedy); });
  return all;
}

}  // namespace pinfold
