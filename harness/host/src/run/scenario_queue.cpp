#include "pinfold/harness/scenario_queue.hpp"

#include <algorithm>

#include "pinfold/harness/guest_session.hpp"

namespace pinfold::harness {

ScenarioQueue::ScenarioQueue(const std::vector<const Scenario*>& scenarios, bool shares) {
  std::vector<const Scenario*> firsts;  // of each group; nullptr: no other can join it
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const bool can_share = shares && can_share_guest(*scenarios[i]);
    const auto same = std::find_if(firsts.begin(), firsts.end(), [&](const Scenario* first) {
      return can_share && first != nullptr && have_same_guest(*first, *scenarios[i]);
    });
    const auto group = static_cast<std::size_t>(same - firsts.begin());
    if (same == firsts.end()) {
      firsts.push_back(can_share ? scenarios[i] : nullptr);
      groups_.emplace_back();
    }
    groups_[group].waiting.push_back(i);
  }
}

std::optional<std::size_t> ScenarioQueue::take_group() {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(groups_.begin(), groups_.end(), [](const Group& group) {
    return !group.has_worker && !group.waiting.empty();
  });
  if (found == groups_.end()) {
    found = std::max_element(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      return a.waiting.size() < b.waiting.size();
    });
  }
  if (found == groups_.end() || found->waiting.empty()) return std::nullopt;
  found->has_worker = true;
  return static_cast<std::size_t>(found - groups_.begin());
}

std::optional<ScenarioQueue::Turn> ScenarioQueue::next(std::size_t group) {
  const std::lock_guard lock(mutex_);
  auto& waiting = groups_[group].waiting;
  if (waiting.empty()) return std::nullopt;
  const std::size_t first = waiting.front();
  waiting.pop_front();
  return Turn{first, waiting.empty()};
}

}  // namespace pinfold::harness
