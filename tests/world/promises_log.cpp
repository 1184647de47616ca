// Runner: checks that some order of the requests explains what clients and a runtime observed.

#include <utility>
#include <vector>

#include "runner.hpp"

namespace pinfold::world {

using agent::AgentState;

/// Logs the leftovers of ended containers that have disappeared.
void Runner::log_ends(const AgentState& actual) {
  if (history_.has_runtime) return;  // the runtime's calls say so
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

/// Checks that clients observed only results of requests that were done one after the other.
void Runner::judge_log() {
  const std::string contradiction = calls_.judge();
  if (!contradiction.empty()) break_promise("linear", contradiction);
}

}  // namespace pinfold::world
