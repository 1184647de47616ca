// Runner: what clients and a runtime saw is explained by an order of what they asked for.

#include <utility>
#include <vector>

#include "runner.hpp"

namespace pinfold::world {

using agent::AgentState;

/// What the containers of a runtime have left behind, and is gone.
void Runner::log_ends(const AgentState& actual) {
  if (history_.has_runtime) return;  // its calls say so
  std::vector<ContainerId> ended;
  for (const auto& entry : model_.adopted) {
    const std::string* const has = actual.adopted.find(entry.id());
    if (has == nullptr || *has != entry.value) ended.push_back(entry.id());
  }
  for (const PodUid& uid : model_.ending) {
    if (actual.node.find(uid) == nullptr) ended.push_back({uid, ""});
  }
  calls_.end(std::move(ended));
}

/// What clients have seen is what requests come to that are done one after the other.
void Runner::judge_log() {
  const std::string contradiction = calls_.judge();
  if (!contradiction.empty()) break_promise("linear", contradiction);
}

}  // namespace pinfold::world
