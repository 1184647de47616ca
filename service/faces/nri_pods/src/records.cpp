#include "pinfold/nri_pods/records.hpp"

#include <algorithm>
#include <utility>

#include "pinfold/nri_pods/plan.hpp"

namespace pinfold::nri {

std::vector<api::ContainerUpdate> Records::take(KnownPods& known, const Node& node,
                                                const NodeState& state, std::string_view except) {
  ++answers_;
  std::vector<api::ContainerUpdate> updates;
  std::vector<std::pair<std::uint64_t, api::ContainerUpdate>> started;
  std::map<std::string, std::uint64_t, std::less<>> due_since;
  for (DueUpdate& due : plan_updates(known, node, state)) {
    const std::string& id = due.update.container_id();
    if (!due.is_started) {
      if (id != except) updates.push_back(std::move(due.update));
      continue;
    }
    const auto before = due_since_.find(id);
    const std::uint64_t since = before == due_since_.end() ? answers_ : before->second;
    due_since.emplace(id, since);
    if (id != except) started.emplace_back(since, std::move(due.update));
  }
  std::stable_sort(started.begin(), started.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  started.resize(std::min(started.size(), kStartedAtOnce));
  for (auto& [since, update] : started) {
    due_since.erase(update.container_id());
    update.set_ignore_failure(true);  // the container may end meanwhile
    updates.push_back(std::move(update));
  }
  due_since_ = std::move(due_since);
  for (const api::ContainerUpdate& update : updates) known.update(update);
  return updates;
}

}  // namespace pinfold::nri
