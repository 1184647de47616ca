#include "pinfold/agent/offline.hpp"

#include <fmt/format.h>

namespace pinfold::agent {

enforce::Layout without_cpus(enforce::Layout desired, const CpuSet& offline, const CpuSet& pool) {
  const CpuSet rest = pool - offline;
  CpuSet fallen;  // what the pod needs for its containers that fell back to the shared pool
  for (auto it = desired.rbegin(); it != desired.rend(); ++it) {  // containers before their pod
    auto& [name, group] = *it;
    if (name.is_pod()) {
      if (!group.cpus.empty()) group.cpus = (group.cpus - offline) | fallen;
      fallen.clear();
    } else if (group.cpus.intersects(offline)) {
      group.cpus -= offline;
      if (!group.cpus.empty()) continue;
      group.cpus = fallen = rest;
      group.isolation = Isolation::kHost;
    }
  }
  return desired;
}

std::vector<std::string> lost_cpus(const Node& node, const AgentState& state,
                                   const CpuSet& offline) {
  std::vector<std::string> lines;
  if (offline.empty()) return lines;
  const CpuSet pool = shared_pool(node, state.node);
  const enforce::Layout whole = desired_layout(node, state, {});
  const enforce::Layout now = without_cpus(whole, offline, pool);
  for (const auto& [name, group] : whole) {
    if (name.is_pod() || group.isolation == Isolation::kHost || !group.cpus.intersects(offline)) {
      continue;
    }
    const CpuSet& left = now.at(name).cpus;
    const PodSpec& pod = state.node.find(name.pod)->spec;
    lines.push_back(fmt::format(
        "{}/{}, container {}: has lost CPUs {} of its {}, runs on {}{}", pod.namespace_name,
        pod.name, name.container, (group.cpus & offline).to_string(), group.cpus.to_string(),
        left.to_string(), group.cpus.contains_all(left) ? "" : " of the shared pool"));
  }
  if (const CpuSet lost = pool & offline; !lost.empty()) {
    const CpuSet left = pool - offline;
    lines.push_back(fmt::format("shared pool: has lost CPUs {}, {} left", lost.to_string(),
                                left.empty() ? "none" : left.to_string()));
  }
  return lines;
}

}  // namespace pinfold::agent
