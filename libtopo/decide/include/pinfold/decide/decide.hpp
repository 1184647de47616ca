#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/api/amounts.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/decide/counts.hpp"
#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/device/device_manager.hpp"
#include "pinfold/memory/memory_manager.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/shared_vector.hpp"
#include "pinfold/types/trace.hpp"

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

/// The isolation level of a container's CPUs (KEP-5526): which containers share them.
enum class Isolation {
  kContainer,  ///< none: the CPUs are exclusive
  kPod,        ///< the shared containers of its pod: the pod shared pool
  kHost,       ///< all shared containers of the node: the shared pool
};
[[nodiscard]] std::string_view to_string(Isolation isolation);

/// The resources of one container as the kubelet would pass them to the runtime now.
struct ContainerResources {
  std::string name;
  std::optional<CpuSet> cpus;  ///< explicit assignment, if it has one
  CpuSet cpuset_cpus;          ///< the value of cpuset.cpus
  CpuSet exclusive_cpus;       ///< as the kubelet's pod resources API reports them
  Isolation isolation = Isolation::kHost;
  std::vector<MemoryBlock> memory;
  std::string cpuset_mems;  ///< "": unset
  TopologyHint affinity;    ///< as stored by the topology manager
  DeviceState::OfContainer devices;
  LinuxResources linux_resources;

  friend bool operator==(const ContainerResources&, const ContainerResources&) = default;
};

/// The hints of all providers that were merged, by "pod" (pod scope) or container name.
using HintsByObject = std::map<std::string, ResourceHints>;

/// For explanations: what each object ("pod" or a container's name) needed, and what was free, held
/// and reserved when its devices, CPUs and memory were chosen. Only with a trace.
using AmountsByObject = std::map<std::string, std::vector<Amounts>>;

struct Admitted {
  NodeState next;
  HintsByObject hints;
  AmountsByObject amounts;
};

/// The step of an admission that failed.
struct FailedStep {
  /// As in a TraceFact: "devices", "cpu", "memory", "topology" or the name of a HintProvider; also
  /// "requests" for find_shortage().
  std::string source;
  std::string object;  ///< "pod" or the container's name

  friend bool operator==(const FailedStep&, const FailedStep&) = default;
};

/// A result, not an error. With the quirk rejected_pod_keeps_resources, `next` differs from the
/// previous state: stale assignments are released, and the pod keeps what it got before the step
/// that failed.
struct Rejected {
  Rejection why;
  NodeState next;
  HintsByObject hints;
  AmountsByObject amounts;
  FailedStep step;
};

using Decision = std::variant<Admitted, Rejected>;

/// What an admission checks.
enum class AdmissionChecks {
  kManagers,  ///< the topology manager and the managers that it consults
  /// Then also, like the kubelet, that the requests of all active pods fit: find_shortage().
  kManagersAndRequests,
};

/// Returns the state of a node that has never run a pod.
[[nodiscard]] NodeState empty_state(const Node& node);

/// Decides whether the node admits the pod, and with which resources. Pure: the same arguments give
/// the same decision. Pass the state with std::move to avoid a copy. A pod that is already active
/// is admitted again, as by the kubelet after a restart. Increments `counts`, unless nullptr.
/// Domain: a pod that pod_from_json accepts.
[[nodiscard]] Decision decide(const Node& node, NodeState state, const PodSpec& pod,
                              Trace* trace = nullptr, Counts* counts = nullptr,
                              AdmissionChecks checks = AdmissionChecks::kManagers);

/// Starts a container: takes the devices that pod-level allocation has not taken, drops the memory
/// entries of finished init containers, and marks the container as started. Does nothing for a
/// started container. Errors: kNotFound for a container of no active pod; kBusy if too few devices
/// are free.
[[nodiscard]] Result<NodeState> start_container(const Node& node, NodeState state,
                                                const ContainerId& container);
/// Like start_container, in place. A failed start keeps the devices that it has taken, as in the
/// kubelet.
[[nodiscard]] Result<void> start_in_place(const Node& node, NodeState& state,
                                          const ContainerId& container);
/// Removes a container; its pod remains.
[[nodiscard]] NodeState remove_container(const Node& node, NodeState state,
                                         const ContainerId& container);
/// Removes all containers, in start order, and then the pod itself; also for a held pod.
[[nodiscard]] NodeState remove_pod(const Node& node, NodeState state, const PodUid& uid);

/// Releases every assignment of a pod or container that is neither active nor held, as the kubelet
/// does at the next admission.
[[nodiscard]] NodeState release_stale(const Node& node, NodeState state);

/// Returns the containers for which a pod has assignments, active or not, by name.
[[nodiscard]] std::vector<ContainerId> containers_with_assignments(const NodeState& state,
                                                                   const PodUid& uid);

/// Returns the current resources of a container of an active pod.
/// Errors: kNotFound for a pod that is not active, and for an unknown container.
[[nodiscard]] Result<ContainerResources> container_resources(const Node& node,
                                                             const NodeState& state,
                                                             const ContainerId& container);
/// Returns the current resources of all containers of an active pod, in start order.
[[nodiscard]] std::vector<ContainerResources> all_container_resources(const Node& node,
                                                                      const NodeState& state,
                                                                      const ActivePod& pod);
/// Returns the cgroup values of the pod.
[[nodiscard]] Result<LinuxResources> pod_resources(const Node& node, const NodeState& state,
                                                   const PodUid& uid);

}  // namespace pinfold
