#pragma once

#include <set>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/enforce/control_values.hpp"
#include "pinfold/enforce/layout.hpp"

namespace pinfold::agent {

/// Everything an agent remembers: what the kubelet's managers do, and which containers of active
/// pods were removed for good.
struct AgentState {
  NodeState node;
  std::set<ContainerId> removed;
  /// The directory of each group that a container runtime made (see Cgroups::adopt).
  ContainerMap<std::string> adopted;
  /// Pods that a container runtime's hook admitted: they end with their last adopted container.
  std::set<PodUid> ending;

  friend bool operator==(const AgentState&, const AgentState&) = default;
};

/// CPUs of containers without CPUs of their own. If the shared pool is used up (possible with
/// strict-cpu-reservation), the reserved CPUs: a shared container must run somewhere, and there it
/// overlaps nobody's exclusive CPUs (the kubelet leaves such a container where it was). Empty with
/// the CPU manager policy none: as the parent.
[[nodiscard]] CpuSet shared_pool(const Node& node, const NodeState& state);

/// True for a standard init container that has run to its end, because a later one has started.
[[nodiscard]] bool is_finished(const ActivePod& pod, const Container& container);

/// The control groups that a state asks for: one for each active pod and each of its containers,
/// without removed containers and finished init containers.
[[nodiscard]] enforce::Layout desired_layout(const Node& node, const AgentState& state,
                                             const enforce::KernelFacts& facts);

/// `desired`, plus the groups of `busy` (they have processes, but belong to nothing active),
/// confined to the shared pool so that they overlap nobody.
[[nodiscard]] enforce::Layout with_strays(enforce::Layout desired,
                                          const std::vector<enforce::GroupName>& busy,
                                          const CpuSet& pool);

}  // namespace pinfold::agent
