#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/values.hpp"

namespace pinfold::enforce {

/// Everything an agent remembers: what the kubelet's managers do, and which containers of active
/// pods were removed for good.
struct AgentState {
  NodeState node;
  std::map<std::string, std::set<std::string>> removed;  ///< pod UID to container names
  /// Containers whose group a container runtime made, and its directory (see Cgroups::adopt).
  std::map<GroupName, std::string> adopted;
  /// Pods (UIDs) that a container runtime's hook admitted: they end with their last adopted
  /// container.
  std::set<std::string> ending;

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
[[nodiscard]] Layout wanted_layout(const Node& node, const AgentState& state,
                                   const KernelFacts& facts);

/// `wanted`, plus the groups of `busy` (they have processes, but belong to nothing active),
/// confined to the shared pool so that they overlap nobody.
[[nodiscard]] Layout with_strays(Layout wanted, const std::vector<GroupName>& busy,
                                 const CpuSet& pool);

/// What is not as it should be, one sentence for each, "pod1/c1: cpuset.cpus is '0-7', expected
/// '2-3'"; empty if nothing is.
[[nodiscard]] std::vector<std::string> drift(const Layout& seen, const Layout& wanted);

}  // namespace pinfold::enforce
