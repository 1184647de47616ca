#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/enforce/control_values.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/process_table.hpp"
#include "pinfold/quiet/quiet_level.hpp"

namespace pinfold::agent {

/// Facts about a pod that a container runtime reported and that its admitted spec does not say.
struct PodNote {
  /// The kubelet's QoS class, taken from the pod's cgroup. A pod that is admitted without its
  /// limits has another class by its spec. nullopt if unknown.
  std::optional<QosClass> qos;
  std::string why_shared;  ///< why all or part of the pod was admitted without limits; "" if not
  /// How quiet its exclusive CPUs are; nullopt: as AgentOptions::quiet says.
  std::optional<quiet::QuietLevel> quiet = std::nullopt;

  friend bool operator==(const PodNote&, const PodNote&) = default;
};
using PodNotes = std::map<PodUid, PodNote>;

/// The state of an agent: that of the kubelet's managers, plus which containers of active pods were
/// removed for good and which groups were adopted.
struct AgentState {
  NodeState node;
  std::set<ContainerId> removed;
  /// Containers whose group a container runtime made, with the group's absolute directory.
  ContainerMap<std::string> adopted;
  /// Adopted containers that had no process yet when their group was adopted: if their runtime does
  /// not remove them, they end with their group. The others end with their last process.
  std::set<ContainerId> end_with_group;
  /// Adopted containers whose group could not be read then, so that it is not known whether they
  /// had a process. They end with their group, until they are seen to have one.
  std::set<ContainerId> unread;
  /// Pods that the runtime of a container admitted; they end with their last adopted container.
  std::set<PodUid> ending;
  /// For a pod without an adopted group: the process that makes its first container. Until there is
  /// a container, the pod ends with this process.
  std::map<PodUid, enforce::ProcessId> creators;
  PodNotes notes;  ///< of active pods
  /// The profile of the kubelet that wrote the state files before the first commit, if they show
  /// it.
  std::optional<Profile> kubelet_profile;

  friend bool operator==(const AgentState&, const AgentState&) = default;
};

/// Whether a change that cannot be stored takes effect.
enum class Unstored {
  kFails,
  /// A change that affects no assignment takes effect anyway and is stored later. Only for changes
  /// that are requested again after a restart.
  kIsKept,
};

/// Drops the entries of pods that are no longer active, and adopted groups of containers that their
/// pod no longer has.
void remove_inactive(AgentState& state);

/// Returns the CPUs of containers without exclusive CPUs. If the shared pool is empty (possible
/// with strict-cpu-reservation), these are the reserved CPUs: a shared container must run
/// somewhere, and there it overlaps no exclusive CPUs (the kubelet leaves such a container where it
/// was). Empty, which means the parent's CPUs, with the CPU manager policy none.
[[nodiscard]] CpuSet shared_pool(const Node& node, const NodeState& state);

/// Returns the control groups that a state asks for while every CPU is online: one per container,
/// except removed and finished init containers, and one per pod with a container that has not
/// adopted its group.
[[nodiscard]] enforce::Layout desired_layout(const Node& node, const AgentState& state,
                                             const enforce::KernelFacts& facts);
/// Adds the groups of one active pod. `containers`: its all_container_resources().
void add_pod_layout(const Node& node, const AgentState& state, const ActivePod& pod,
                    const std::vector<ContainerResources>& containers,
                    const enforce::KernelFacts& facts, enforce::Layout& layout);

/// Returns the CPUs of containers without exclusive CPUs when only `cpus` are online: those of
/// `pool`, or those that are not `exclusive` if the whole pool is offline. Empty if there are none,
/// and for an empty pool.
[[nodiscard]] CpuSet pool_in(const CpuSet& cpus, const CpuSet& pool, const CpuSet& exclusive);

/// Returns `desired` without the `offline` CPUs. A container whose CPUs are all offline gets `pool`
/// (see pool_in): it must run somewhere, and there it overlaps no exclusive CPUs.
[[nodiscard]] enforce::Layout without_cpus(enforce::Layout desired, const CpuSet& offline,
                                           const CpuSet& pool);

/// The desired state of the kernel, for a machine where some CPUs may be offline.
struct Desired {
  enforce::Layout layout;
  /// The containers of held pods, with their exclusive CPUs and memory nodes. Their groups are
  /// elsewhere; a group that is below the root nevertheless keeps these.
  enforce::Layout held;
  CpuSet pool;  ///< CPUs of containers without exclusive CPUs: the shared pool, see pool_in
  ContainerMap<std::string> adopted;  ///< see AgentState
  Partition partition = Partition::kNone;
  /// Adopted groups with exclusive CPUs may be partitions: see quiet::QuietCpus::partitions.
  bool has_isolated = false;
  /// The layout before a reconfiguration that may not be fully applied yet. A container that still
  /// has these CPUs in the kernel keeps them exclusively until it has left them. Empty if there was
  /// no reconfiguration.
  enforce::Layout earlier = {};
};
[[nodiscard]] Desired make_desired(const Node& node, const AgentState& state,
                                   const enforce::KernelFacts& facts, const CpuSet& offline);

/// Sets the isolation of observed containers: one that runs on a subset of its desired or earlier
/// exclusive CPUs has these exclusively, even if the set is not the desired one. `earlier`: see
/// Desired; only containers with processes, because the others have no CPUs to leave.
void mark_isolation(const enforce::Layout& desired, const enforce::Layout& earlier,
                    enforce::Layout& observed);

/// Returns the CPUs that are exclusive to containers.
[[nodiscard]] CpuSet exclusive_cpus(const enforce::Layout& layout);
/// Returns the CPUs that are exclusive to containers, including those of held pods.
[[nodiscard]] CpuSet exclusive_cpus(const Desired& desired);

/// Returns the desired layout plus the groups `strays` (with processes, but of no active pod). They
/// are confined to the shared pool, where they overlap no exclusive CPUs; a container of a held pod
/// keeps its own CPUs. Their memory nodes stay as observed, because the kernel does not let a group
/// with processes lose them.
[[nodiscard]] enforce::Layout with_strays(const Desired& desired, const enforce::Layout& observed,
                                          const std::vector<enforce::GroupName>& strays);

}  // namespace pinfold::agent
