#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/decide/node_state.hpp"

namespace pinfold {

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
  /// For a resized container: the CPUs of its admission, which it keeps.
  std::optional<CpuSet> baseline;
  Isolation isolation = Isolation::kHost;
  std::vector<MemoryBlock> memory;
  std::string cpuset_mems;  ///< "": unset
  TopologyHint affinity;    ///< as stored by the topology manager
  DeviceState::OfContainer devices;
  LinuxResources linux_resources;

  friend bool operator==(const ContainerResources&, const ContainerResources&) = default;
};

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
