#include "pinfold/agent/offline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "pinfold/api/pod.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::agent {

std::string owners_of(const ContainerMap<CpuSet>& assignments, const PodNames& names, CpuSet cpus) {
  constexpr std::size_t kMostNamed = 3;
  const std::string_view them = one_or_more(cpus, "it", "them");
  std::vector<std::string> parts;
  for (const auto& [pod, container, assigned] : assignments) {
    const CpuSet part = assigned & cpus;
    if (part.empty()) continue;
    const std::string owner = fmt::format("{}/{}", to_string(ref_of(names, pod)), container);
    if (parts.empty() && part == cpus) return fmt::format("{} has {}", owner, them);
    cpus -= part;  // a later container can have the CPUs of an init container
    parts.push_back(fmt::format("{} of {}", part.to_string(), owner));
  }
  if (parts.empty()) return fmt::format("no container has {}", them);
  parts = first_named(std::move(parts), kMostNamed, "more containers");
  if (!cpus.empty()) parts.push_back(cpus.to_string() + " of no container");
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool gains_cpus(const NodeState& before, const NodeState& after) {
  for (const auto& entry : after.cpu.assignments) {
    const CpuSet* const had = before.cpu.assignments.find(entry.id());
    if (had == nullptr || !had->contains_all(entry.value)) return true;
  }
  return false;
}

bool needs_cpus(const Node& node, const NodeState& state, const PodSpec& pod) {
  const PodView view(pod);
  if (is_managed_as_pod(node.gates(), pod)) {
    return !state.cpu.pods.contains(pod.uid) &&
           !node.cpu().amounts(state.cpu, view, nullptr).empty();
  }
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const Container& container) {
    const CpuSet* const has = state.cpu.assignments.find({pod.uid, container.name});
    return node.cpu().guaranteed_cpus(view, container) >
           static_cast<int>(has == nullptr ? 0 : has->size());
  });
}

std::string offline_cause(const NodeState& state, const CpuSet& offline) {
  return fmt::format(
      "{} of this node {} offline ({}): no container gets exclusive CPUs until {} back",
      cpus_named(offline), one_or_more(offline, "is", "are"),
      owners_of(state.cpu.assignments, names_of_pods(state), offline),
      one_or_more(offline, "it is", "they are"));
}

std::string offline_text(const NodeState& state, const CpuSet& offline) {
  return fmt::format("{} ('{}'; if {} will not return: 'pinfold reconfigure')",
                     offline_cause(state, offline), online_command(offline),
                     one_or_more(offline, "it", "they"));
}

std::string online_command(const CpuSet& cpus) { return "chcpu --enable " + cpus.to_string(); }

Result<void> check_no_gains(const NodeState& before, const NodeState& after,
                            const CpuSet& offline) {
  if (offline.empty() || !gains_cpus(before, after)) return {};
  return fail(ErrorCode::kUnsupported, offline_text(before, offline));
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
    lines.push_back(fmt::format("{}/{}, container {}: lost {} of its {} and runs on {}{}",
                                pod.namespace_name, pod.name, name.container,
                                cpus_named(group.cpus & offline), group.cpus.to_string(),
                                left.to_string(), is_in_pool ? " of the shared pool" : ""));
  }
  if (const CpuSet lost = pool & offline; !lost.empty()) {
    const CpuSet left = pool - offline;
    const std::string rest = !left.empty() ? left.to_string() + " left"
                             : !now.pool.empty()
                                 ? "none left: its containers run on " + now.pool.to_string()
                                 : "none left, so its containers run on exclusive CPUs";
    lines.push_back(fmt::format("shared pool: lost {}, {}", cpus_named(lost), rest));
  }
  return lines;
}

}  // namespace pinfold::agent
