#include "stale.hpp"

#include <set>
#include <string_view>

namespace pinfold {
namespace {

/// The containers with assignments that are neither active nor held.
template <class T>
std::vector<ContainerId> find_stale(const ContainerMap<T>& assignments, const NodeState& state) {
  std::vector<ContainerId> stale;
  for (const auto& [uid, containers] : assignments.by_pod()) {
    const ActivePod* const pod = state.find(uid);
    if (pod == nullptr && state.held.contains(uid)) continue;
    const auto active = pod == nullptr ? std::set<std::string_view>() : container_names(pod->spec);
    for (const auto& [name, value] : containers) {
      if (!active.contains(name)) stale.push_back({uid, name});
    }
  }
  return stale;
}

}  // namespace

void release_stale_cpus(const Node& node, NodeState& state) {
  for (const ContainerId& container : find_stale(state.cpu.assignments, state)) {
    node.cpu().remove_container(state.cpu, container);
  }
}

void release_stale_memory(const Node& node, NodeState& state) {
  for (const ContainerId& container : find_stale(state.memory.assignments, state)) {
    node.memory().remove_container(state.memory, container);
  }
}

void release_stale_devices(const Node& node, NodeState& state) {
  for (const ContainerId& container : find_stale(state.devices.assignments, state)) {
    // DEVIATION (quirk): devices of a container that its pod no longer has are stale, too.
    if (!node.quirks().devices_return_with_pod || state.find(container.pod) == nullptr) {
      node.devices().remove_container(state.devices, container);
    }
  }
}

NodeState release_stale(const Node& node, NodeState state) {
  release_stale_cpus(node, state);
  release_stale_memory(node, state);
  release_stale_devices(node, state);
  std::set<PodUid> active;
  for (const ActivePod& pod : state.pods) active.insert(pod.spec.uid);
  state.affinity.erase_if([&](const auto& entry) { return !active.contains(entry.pod); });
  return state;
}

}  // namespace pinfold
