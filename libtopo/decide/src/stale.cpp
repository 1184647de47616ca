#include "pinfold/decide/stale.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace pinfold {
namespace {

/// Returns the active pods in the order of their UIDs.
std::vector<const ActivePod*> pods_by_uid(const NodeState& state) {
  std::vector<const ActivePod*> pods;
  pods.reserve(state.pods.size());
  for (const ActivePod& pod : state.pods) pods.push_back(&pod);
  std::sort(pods.begin(), pods.end(), [](const ActivePod* one, const ActivePod* other) {
    return one->spec.uid < other->spec.uid;
  });
  return pods;
}

/// The container names of a pod, for lookups. Every admission looks at all containers of the node;
/// most pods have few, which need no sorting.
class NameLookup {
 public:
  explicit NameLookup(const ActivePod* pod) {
    if (pod == nullptr) return;
    names_.reserve(pod->spec.containers.size());
    for (const Container& container : pod->spec.containers) names_.push_back(container.name);
    if (names_.size() > kFew) std::sort(names_.begin(), names_.end());
  }
  [[nodiscard]] bool contains(std::string_view name) const {
    return names_.size() > kFew ? std::binary_search(names_.begin(), names_.end(), name)
                                : std::find(names_.begin(), names_.end(), name) != names_.end();
  }

 private:
  static constexpr std::size_t kFew = 8;
  std::vector<std::string_view> names_;
};

/// Calls visit(UID, its containers, its active pod or nullptr) for each pod of a map.
template <class T, class Visit>
void for_each_pod(const ContainerMap<T>& map, const NodeState& state, const Visit& visit) {
  if (map.empty()) return;
  const auto pods = pods_by_uid(state);
  auto next = pods.begin();  // the map has the same order
  for (const auto& [uid, containers] : map.by_pod()) {
    while (next != pods.end() && (*next)->spec.uid < uid) ++next;
    visit(uid, containers, next != pods.end() && (*next)->spec.uid == uid ? *next : nullptr);
  }
}

/// Returns the containers with assignments that are neither active nor held.
template <class T>
std::vector<ContainerId> find_stale(const ContainerMap<T>& assignments, const NodeState& state) {
  std::vector<ContainerId> stale;
  for_each_pod(assignments, state,
               [&](const PodUid& uid, const auto& containers, const ActivePod* pod) {
                 if (pod == nullptr && state.held.contains(uid)) return;
                 const NameLookup active(pod);
                 for (const auto& [name, value] : containers) {
                   if (!active.contains(name)) stale.push_back({uid, name});
                 }
               });
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
  auto reusable = state.devices.reusable;
  for (const ContainerId& container : find_stale(state.devices.assignments, state)) {
    // QUIRK: without the quirk, devices of a container that its pod no longer has are
    // stale.
    if (!node.quirks().devices_return_with_pod || state.find(container.pod) == nullptr) {
      node.devices().remove_container(state.devices, container);
    }
  }
  // QUIRK: without the quirk, what init containers left to later ones ends with the
  // pod.
  if (node.quirks().removed_pod_keeps_devices) state.devices.reusable = std::move(reusable);
}

NodeState release_stale(const Node& node, NodeState state) {
  release_stale_cpus(node, state);
  release_stale_memory(node, state);
  release_stale_devices(node, state);
  std::set<PodUid> gone;
  for_each_pod(state.affinity, state,
               [&](const PodUid& uid, const auto& /*containers*/, const ActivePod* pod) {
                 if (pod == nullptr) gone.insert(uid);
               });
  if (gone.empty()) return state;
  state.affinity.erase_if([&](const auto& entry) { return gone.contains(entry.pod); });
  return state;
}

}  // namespace pinfold
