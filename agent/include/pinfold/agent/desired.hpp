#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/enforce/control_values.hpp"
#include "pinfold/enforce/layout.hpp"

namespace pinfold::agent {

/// What a container runtime has shown of a pod besides what is admitted of it.
struct PodNote {
  /// The kubelet's QoS class, by the pod's cgroup: a pod can be admitted without its limits, and
  /// has another class then. nullopt: not known.
  std::optional<QosClass> qos;
  std::string why_shared;  ///< why the pod, or some of it, was admitted without its limits; or ""

  friend bool operator==(const PodNote&, const PodNote&) = default;
};
using PodNotes = std::map<PodUid, PodNote>;

/// Everything an agent keeps: the state of the kubelet's managers, which containers of active pods
/// were removed for good, and which groups were adopted.
struct AgentState {
  NodeState node;
  std::set<ContainerId> removed;
  /// Containers whose group a container runtime made, and its absolute directory.
  ContainerMap<std::string> adopted;
  /// Pods that a container runtime's hook admitted: they end with their last adopted container.
  std::set<PodUid> ending;
  PodNotes notes;  ///< of active pods
  /// The profile of the kubelet that wrote the state files before the first commit, if they told
  /// it.
  std::optional<Profile> kubelet_profile;

  friend bool operator==(const AgentState&, const AgentState&) = default;
};

/// Drops what an agent keeps of pods that are no longer active, and of containers that they lack.
void remove_inactive(AgentState& state);

/// CPUs of containers without exclusive CPUs. If the shared pool is used up (possible with
/// strict-cpu-reservation), the reserved CPUs: a shared container must run somewhere, and there it
/// overlaps no exclusive CPUs (the kubelet leaves such a container where it was). Empty with the
/// CPU manager policy none: as the parent.
[[nodiscard]] CpuSet shared_pool(const Node& node, const NodeState& state);

/// The control groups that a state asks for, with every CPU online: one for each active pod and
/// each of its containers, without removed containers and finished init containers.
[[nodiscard]] enforce::Layout desired_layout(const Node& node, const AgentState& state,
                                             const enforce::KernelFacts& facts);
/// Adds the groups of one active pod; `containers`: its all_container_resources().
void add_pod_layout(const Node& node, const AgentState& state, const ActivePod& pod,
                    const std::vector<ContainerResources>& containers,
                    const enforce::KernelFacts& facts, enforce::Layout& layout);

/// What a state asks of the kernel while some CPUs are offline.
struct Desired {
  enforce::Layout layout;
  /// The containers of held pods, with the exclusive CPUs and the memory nodes that they have.
  /// Their groups are elsewhere; one that is below the root all the same keeps this.
  enforce::Layout held;
  CpuSet pool;  ///< where containers without exclusive CPUs run: the shared pool, see pool_in
  ContainerMap<std::string> adopted;  ///< see AgentState
  Partition partition = Partition::kNone;
  /// Before a reconfiguration that may not be applied to its end yet: containers that the kernel
  /// still has as here keep their exclusive CPUs until they have left them. Empty: there was none.
  enforce::Layout earlier = {};
};
[[nodiscard]] Desired make_desired(const Node& node, const AgentState& state,
                                   const enforce::KernelFacts& facts, const CpuSet& offline);

/// Gives observed containers their isolation: one that runs on a part of its desired or of its
/// earlier exclusive CPUs has them exclusively, although it does not have the desired CPUs.
/// `earlier`: see Desired; only of containers with processes, as nothing else has to leave CPUs.
void mark_isolation(const enforce::Layout& desired, const enforce::Layout& earlier,
                    enforce::Layout& observed);

/// The CPUs that are exclusive to containers.
[[nodiscard]] CpuSet exclusive_cpus(const enforce::Layout& layout);
/// The same with those of held pods.
[[nodiscard]] CpuSet exclusive_cpus(const Desired& desired);

/// The desired layout, plus the groups of `strays` (they have processes, but belong to no active
/// pod), confined to the shared pool so that they overlap no exclusive CPUs; a container of a held
/// pod keeps its own CPUs. Memory nodes stay as `observed`: the kernel does not let a group with
/// processes lose its own.
[[nodiscard]] enforce::Layout with_strays(const Desired& desired, const enforce::Layout& observed,
                                          const std::vector<enforce::GroupName>& strays);

}  // namespace pinfold::agent
