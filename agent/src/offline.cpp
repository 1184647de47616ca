#include "pinfold/agent/offline.hpp"

#include <fmt/format.h>

namespace pinfold::agent {

Result<void> check_no_gains(const NodeState& before, const NodeState& after,
                            const CpuSet& offline) {
  if (offline.empty()) return {};
  for (const auto& entry : after.cpu.assignments) {
    const CpuSet* const had = before.cpu.assignments.find(entry.id());
    if (had != nullptr && had->contains_all(entry.value)) continue;
    return fail(ErrorCode::kUnsupported,
                fmt::format("CPUs {} of this node are offline: no container gets exclusive CPUs "
                            "until they are back",
                            offline.to_string()));
  }
  return {};
}

std::vector<std::string> lost_cpus(const Node& node, const AgentState& state,
                                   const CpuSet& offline) {
  std::vector<std::string> lines;
  if (offline.empty()) return lines;
  const CpuSet pool = shared_pool(node, state.node);
  const Desired now = make_desired(node, state, {}, offline);
  for (const auto& [name, group] : desired_layout(node, state, {})) {
    if (name.is_pod() || group.isolation == Isolation::kHost || !group.cpus.intersects(offline)) {
      continue;
    }
    const CpuSet& left = now.layout.at(name).cpus;
    const bool is_in_pool = !group.cpus.contains_all(left) && pool.contains_all(left);
    const PodSpec& pod = state.node.find(name.pod)->spec;
    lines.push_back(fmt::format("{}/{}, container {}: has lost CPUs {} of its {}, runs on {}{}",
                                pod.namespace_name, pod.name, name.container,
                                (group.cpus & offline).to_string(), group.cpus.to_string(),
                                left.to_string(), is_in_pool ? " of the shared pool" : ""));
  }
  if (const CpuSet lost = pool & offline; !lost.empty()) {
    const CpuSet left = pool - offline;
    const std::string rest =
        !left.empty()       ? left.to_string() + " left"
        : !now.pool.empty() ? "none left: its containers run on " + now.pool.to_string()
                            : "none left, and all others are exclusive: its containers run there";
    lines.push_back(fmt::format("shared pool: has lost CPUs {}, {}", lost.to_string(), rest));
  }
  return lines;
}

}  // namespace pinfold::agent
