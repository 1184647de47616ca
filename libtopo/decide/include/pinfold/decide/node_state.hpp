#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/decide/active_pods.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/device/device_manager.hpp"
#include "pinfold/memory/memory_manager.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/pod_ref.hpp"

namespace pinfold {

/// The parts of a state in which release_stale() last found nothing stale, so that it looks only at
/// pods that have changed since. Not part of the value of a state: any two are equal.
struct CheckedForStale {
  ContainerMap<CpuSet> cpus;
  ContainerMap<std::vector<MemoryBlock>> memory;
  ContainerMap<DeviceState::OfContainer> devices;
  ContainerMap<TopologyHint> affinity;
  ActivePods pods;
  std::set<PodUid> held;

  friend bool operator==(const CheckedForStale&, const CheckedForStale&) { return true; }
};

/// Names of held pods, for people. No decision uses them and no state file stores them, so they are
/// not part of the value of a state: any two are equal.
struct HeldNames {
  PodNames names;

  friend bool operator==(const HeldNames&, const HeldNames&) { return true; }
};

/// The state of a node: everything that changes while it runs. A plain value.
struct NodeState {
  CpuState cpu;
  MemoryState memory;
  DeviceState devices;
  /// State of each HintProvider by name; no entry for an empty string.
  std::map<std::string, std::string> providers;
  ActivePods pods;
  /// Pods with assignments that are not active but may run, so nothing of theirs is stale. A held
  /// pod becomes active when it is admitted, and keeps its resources.
  std::set<PodUid> held;
  /// The affinity that the topology manager stored for each container; lost by a restart.
  ContainerMap<TopologyHint> affinity;
  /// True while a started kubelet has not yet seen all its pods; see
  /// Quirks::stale_state_kept_until_pods_are_known.
  bool pods_are_unknown = false;
  CheckedForStale checked = {};
  HeldNames held_names = {};

  [[nodiscard]] const ActivePod* find(const PodUid& pod) const;

  friend bool operator==(const NodeState&, const NodeState&) = default;
};

/// Returns a pod with its names; only its UID if it is not active and has none in `held_names`.
[[nodiscard]] PodRef ref_of(const NodeState& state, const PodUid& uid);

/// Returns the state of a node that has never run a pod.
[[nodiscard]] NodeState empty_state(const Node& node);

/// Returns the containers of a pod, active or not, that have assignments, by name.
[[nodiscard]] std::vector<ContainerId> containers_with_assignments(const NodeState& state,
                                                                   const PodUid& uid);

}  // namespace pinfold
