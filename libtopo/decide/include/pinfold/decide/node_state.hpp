#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/device/device_manager.hpp"
#include "pinfold/memory/memory_manager.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/shared_vector.hpp"

namespace pinfold {

/// A pod that runs on the node.
struct ActivePod {
  PodSpec spec;
  /// Containers that were started and not removed since; survives a restart.
  std::set<std::string> started;

  friend bool operator==(const ActivePod&, const ActivePod&) = default;
};

/// The state of a node: everything that changes while it runs. A plain value.
struct NodeState {
  CpuState cpu;
  MemoryState memory;
  DeviceState devices;
  /// State of each HintProvider by name; no entry for an empty string.
  std::map<std::string, std::string> providers;
  /// Active pods in the order of their admission.
  SharedVector<ActivePod> pods;
  /// Pods with assignments that are not active but may run, so nothing of theirs is stale. A held
  /// pod becomes active when it is admitted, and keeps what it has.
  std::set<PodUid> held;
  /// The affinity that the topology manager stored for each container; lost by a restart.
  ContainerMap<TopologyHint> affinity;
  /// True while a started kubelet has not yet seen all its pods; see
  /// Quirks::stale_state_kept_until_pods_are_known.
  bool pods_are_unknown = false;

  [[nodiscard]] const ActivePod* find(const PodUid& pod) const;

  friend bool operator==(const NodeState&, const NodeState&) = default;
};

/// Returns the state of a node that has never run a pod.
[[nodiscard]] NodeState empty_state(const Node& node);

/// Returns the containers for which a pod has assignments, active or not, by name.
[[nodiscard]] std::vector<ContainerId> containers_with_assignments(const NodeState& state,
                                                                   const PodUid& uid);

}  // namespace pinfold
