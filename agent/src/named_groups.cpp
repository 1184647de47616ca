#include "pinfold/agent/named_groups.hpp"

#include <fmt/format.h>

#include <utility>

#include "pinfold/decide/container_resources.hpp"

namespace pinfold::agent {

NamedGroups named_groups(const Node& node, const AgentState& state, const std::string& root) {
  NamedGroups groups;
  for (const auto& [pod, name, directory] : state.adopted) {
    groups.emplace(directory, ContainerRef{ref_of(state.node, pod), name});
  }
  const auto add = [&](const enforce::GroupName& group, ContainerRef container) {
    const auto path = enforce::relative_path(group);
    if (path) groups.emplace(fmt::format("{}/{}", root, *path), std::move(container));
  };
  for (const ActivePod& pod : state.node.pods) {
    const PodRef ref = ref_of(pod.spec);
    add(enforce::GroupName(pod.spec.uid), {ref, ""});
    for (const ContainerResources& one : all_container_resources(node, state.node, pod)) {
      const ContainerId id{pod.spec.uid, one.name};
      if (!state.adopted.contains(id)) add(id, {ref, one.name});
    }
  }
  return groups;
}

}  // namespace pinfold::agent
