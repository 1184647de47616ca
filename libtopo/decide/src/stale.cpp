#include "stale.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace pinfold {
namespace {

/// The active pods in the order of their UIDs.
std::vector<const ActivePod*> pods_by_uid(const NodeState& state) {
  std::vector<const ActivePod*> pods;
  pods.reserve(state.pods.size());
  for (const ActivePod& pod : state.pods) pods.push_back(&pod);
  std::sort(pods.begin(), pods.end(), [](const ActivePod* one, const ActivePod* other) {
    return one->spec.uid < other->spec.uid;
  });
  return pods;
}

/// The containers with assignments that are neither active nor held.
template <class T>
std::vector<ContainerId> find_stale(const ContainerMap<T>& assignments, const NodeState& state) {
  std::vector<ContainerId> stale;
  const auto pods = pods_by_uid(state);
  auto next = pods.begin();  // assignments have the same order
  for (const auto& [uid, containers] : assignments.by_pod()) {
    while (next != pods.end() && (*next)->spec.uid < uid) ++next;
    const ActivePod* const pod = next != pods.end() && (*next)->spec.uid == uid ? *next : nullptr;
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
