#include "pinfold/decide/stale.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace pinfold {
namespace {

/// Returns the pods that may have something stale: those that have changed since the last check.
std::set<PodUid> suspects(const NodeState& state) {
  const CheckedForStale& checked = state.checked;
  std::set<PodUid> uids;
  const auto note = [&](const PodUid& uid, const auto*, const auto*) { uids.insert(uid); };
  decltype(checked.cpus)::for_each_change(checked.cpus, state.cpu.assignments, note);
  decltype(checked.memory)::for_each_change(checked.memory, state.memory.assignments, note);
  decltype(checked.devices)::for_each_change(checked.devices, state.devices.assignments, note);
  decltype(checked.affinity)::for_each_change(checked.affinity, state.affinity, note);
  ActivePods::for_each_change(checked.pods, state.pods,
                              [&](const ActivePod* before, const ActivePod* after) {
                                uids.insert(before != nullptr ? before->spec.uid : after->spec.uid);
                              });
  std::set_symmetric_difference(checked.held.begin(), checked.held.end(), state.held.begin(),
                                state.held.end(), std::inserter(uids, uids.end()));
  return uids;
}

/// The container names of a pod, for lookups. Most pods have few, which need no sorting.
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

/// Returns the containers of these pods with assignments that are neither active nor held.
template <class T>
std::vector<ContainerId> find_stale(const ContainerMap<T>& assignments, const NodeState& state,
                                    const std::set<PodUid>& pods) {
  std::vector<ContainerId> stale;
  for (const PodUid& uid : pods) {
    const auto* const containers = assignments.find(uid);
    const ActivePod* const pod = state.find(uid);
    if (containers == nullptr || (pod == nullptr && state.held.contains(uid))) continue;
    const NameLookup active(pod);
    for (const auto& [name, value] : *containers) {
      if (!active.contains(name)) stale.push_back({uid, name});
    }
  }
  return stale;
}

/// Returns the pods that are neither active nor held.
std::set<PodUid> inactive(std::set<PodUid> pods, const NodeState& state) {
  std::erase_if(pods, [&](const PodUid& uid) {
    return state.held.contains(uid) || state.find(uid) != nullptr;
  });
  return pods;
}

bool has_assignments(const NodeState& state, const PodUid& uid) {
  return state.cpu.assignments.contains(uid) || state.memory.assignments.contains(uid) ||
         state.cpu.pods.contains(uid) || state.memory.pods.contains(uid);
}

/// Returns whether one of these pods has something stale; a file can list a pod without containers.
bool has_stale(const NodeState& state, const std::set<PodUid>& pods) {
  const std::set<PodUid> gone = inactive(pods, state);
  return !find_stale(state.cpu.assignments, state, pods).empty() ||
         !find_stale(state.memory.assignments, state, pods).empty() ||
         !find_stale(state.devices.assignments, state, pods).empty() ||
         std::any_of(gone.begin(), gone.end(),
                     [&](const PodUid& uid) { return has_assignments(state, uid); });
}

void release_cpus(const Node& node, NodeState& state, const std::set<PodUid>& pods) {
  for (const ContainerId& container : find_stale(state.cpu.assignments, state, pods)) {
    node.cpu().remove_container(state.cpu, container);
  }
}

void release_memory(const Node& node, NodeState& state, const std::set<PodUid>& pods) {
  for (const ContainerId& container : find_stale(state.memory.assignments, state, pods)) {
    node.memory().remove_container(state.memory, container);
  }
}

void release_devices(const Node& node, NodeState& state, const std::set<PodUid>& pods) {
  auto reusable = state.devices.reusable;
  for (const ContainerId& container : find_stale(state.devices.assignments, state, pods)) {
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

}  // namespace

std::set<PodUid> stale_pods(const NodeState& state) {
  std::set<PodUid> pods = suspects(state);
  for (const auto& [uid, cpus] : state.cpu.pods) pods.insert(uid);
  for (const auto& [uid, blocks] : state.memory.pods) pods.insert(uid);
  std::erase_if(pods, [&](const PodUid& uid) { return !has_assignments(state, uid); });
  return inactive(std::move(pods), state);
}

void release_stale_cpus(const Node& node, NodeState& state) {
  release_cpus(node, state, suspects(state));
}

void release_stale_memory(const Node& node, NodeState& state) {
  release_memory(node, state, suspects(state));
}

void release_stale_devices(const Node& node, NodeState& state) {
  release_devices(node, state, suspects(state));
}

NodeState release_stale(const Node& node, NodeState state) {
  const std::set<PodUid> pods = suspects(state);
  release_cpus(node, state, pods);
  release_memory(node, state, pods);
  release_devices(node, state, pods);
  for (const PodUid& uid : pods) {
    if (state.find(uid) == nullptr) state.affinity.erase(uid);
  }
  // What a quirk or the policy none has left is looked at again.
  if (!has_stale(state, pods)) {
    state.checked = {state.cpu.assignments,
                     state.memory.assignments,
                     state.devices.assignments,
                     state.affinity,
                     state.pods,
                     state.held};
  }
  return state;
}

}  // namespace pinfold
