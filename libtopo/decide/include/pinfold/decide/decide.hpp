#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/decide/counts.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/decide/quota.hpp"
#include "pinfold/device/device_manager.hpp"
#include "pinfold/memory/memory_manager.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

namespace pinfold {

/// A pod that the node runs.
struct ActivePod {
  PodSpec spec;
  /// Containers that were started and not removed for good; kept over a restart.
  std::set<std::string> started;

  friend bool operator==(const ActivePod&, const ActivePod&) = default;
};

/// Everything about a node that changes while it runs: a plain value.
struct NodeState {
  CpuState cpu;
  MemoryState memory;
  DeviceState devices;
  /// Name of a HintProvider to what it remembers; no entry for an empty string.
  std::map<std::string, std::string> providers;
  /// Active pods in the order of their admission.
  std::vector<ActivePod> pods;
  /// The affinity that the topology manager stored for each container; lost by a restart.
  ContainerMap<TopologyHint> affinity;

  [[nodiscard]] const ActivePod* find(const PodUid& pod) const;

  friend bool operator==(const NodeState&, const NodeState&) = default;
};

/// Who a container shares its CPUs with.
enum class Isolation {
  kContainer,  ///< nobody: exclusive CPUs
  kPod,        ///< the other shared containers of its pod
  kHost,       ///< the node's shared pool
};
[[nodiscard]] std::string_view to_string(Isolation isolation);

/// What one container gets: what the kubelet would hand to the runtime now.
struct ContainerResources {
  std::string name;
  std::optional<CpuSet> cpus;  ///< explicit assignment, if it has one
  CpuSet cpuset_cpus;          ///< what goes into cpuset.cpus
  CpuSet exclusive_cpus;       ///< as the kubelet's pod resources API reports them
  Isolation isolation = Isolation::kHost;
  std::vector<MemoryBlock> memory;
  std::string cpuset_mems;  ///< "": unset
  TopologyHint affinity;    ///< as stored by the topology manager
  DeviceState::OfContainer devices;
  LinuxResources linux_resources;

  friend bool operator==(const ContainerResources&, const ContainerResources&) = default;
};

/// The hints that the providers offered, before allocation: key "pod" (pod scope) or a container.
using OfferedHints = std::map<std::string, ResourceHints>;

struct Admitted {
  NodeState next;
  OfferedHints hints;
};

/// An answer, not an error. `next` differs from the state before under the profile kubelet-1.36:
/// stale assignments are gone, and the pod keeps what it got before the failing step.
struct Rejected {
  Rejection why;
  NodeState next;
  OfferedHints hints;
};

using Decision = std::variant<Admitted, Rejected>;

/// The state of a node that has never run a pod.
[[nodiscard]] NodeState empty_state(const Node& node);

/// Would the node admit the pod, and what would it get? Pure: the same arguments give the same
/// answer. Pass the state with std::move to save the copy.
/// A pod that is already active is admitted again as the kubelet does after a restart.
/// `counts`, if given, grows by what happened.
/// Precondition: pod_from_json's checks hold (names are not empty, containers unique).
[[nodiscard]] Decision decide(const Node& node, NodeState state, const PodSpec& pod,
                              Trace* trace = nullptr, Counts* counts = nullptr);

/// A container starts: takes devices that a pod-level allocation left to this moment, drops what
/// its predecessors no longer need, and marks it as started. A container that is started already
/// changes nothing.
/// Errors: kNotFound for a container that is not of an active pod; kBusy when its devices are gone.
[[nodiscard]] Result<NodeState> start_container(const Node& node, NodeState state,
                                                const ContainerId& container);
/// The same in place. A start that fails keeps the devices that it took before, as the kubelet's.
[[nodiscard]] Result<void> start_in_place(const Node& node, NodeState& state,
                                          const ContainerId& container);
/// A container stops for good; its pod stays.
[[nodiscard]] NodeState remove_container(const Node& node, NodeState state,
                                         const ContainerId& container);
/// All containers, in start order, and then the pod itself are gone.
[[nodiscard]] NodeState remove_pod(const Node& node, NodeState state, const PodUid& uid);

/// Releases every assignment of a pod or container that is not active: what the kubelet does at
/// the next admission.
[[nodiscard]] NodeState release_stale(const Node& node, NodeState state);

/// What a container of an active pod has at this moment.
/// Errors: kNotFound for a pod that is not active or a container that it does not have.
[[nodiscard]] Result<ContainerResources> container_resources(const Node& node,
                                                             const NodeState& state,
                                                             const ContainerId& container);
/// The values of the pod's own group.
[[nodiscard]] Result<LinuxResources> pod_resources(const Node& node, const NodeState& state,
                                                   const PodUid& uid);

}  // namespace pinfold
