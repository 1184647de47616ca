#pragma once

#include <array>
#include <optional>
#include <string_view>

/// The topology manager's policies and scopes, with their names in a KubeletConfiguration.
namespace pinfold {

/// topologyManagerPolicy. admits() in place/merge.hpp has the rule of each.
enum class TopologyPolicy { kNone, kBestEffort, kRestricted, kSingleNumaNode };

/// topologyManagerScope: whether containers are aligned one by one, or the pod as a whole.
enum class TopologyScope { kContainer, kPod };

/// numa-allocation-strategy: which of several masks that are equally good wins. The one whose nodes
/// are allocated most or least, or (none) the lowest.
enum class NumaAllocationStrategy { kNone, kMostAllocated, kLeastAllocated };

/// Indexed by enumerator, in the order of the kubelet's messages.
inline constexpr std::array<std::string_view, 4> kTopologyPolicyNames = {
    "none", "best-effort", "restricted", "single-numa-node"};
inline constexpr std::array<std::string_view, 2> kTopologyScopeNames = {"container", "pod"};
inline constexpr std::array<std::string_view, 3> kNumaAllocationStrategyNames = {
    "none", "most-allocated", "least-allocated"};

[[nodiscard]] constexpr std::string_view to_string(TopologyPolicy policy) {
  return kTopologyPolicyNames[static_cast<std::size_t>(policy)];
}
[[nodiscard]] constexpr std::string_view to_string(TopologyScope scope) {
  return kTopologyScopeNames[static_cast<std::size_t>(scope)];
}

[[nodiscard]] constexpr std::string_view to_string(NumaAllocationStrategy strategy) {
  return kNumaAllocationStrategyNames[static_cast<std::size_t>(strategy)];
}

/// Parses a policy's name; nullopt for any other name.
[[nodiscard]] constexpr std::optional<TopologyPolicy> parse_topology_policy(std::string_view name) {
  for (std::size_t i = 0; i < kTopologyPolicyNames.size(); ++i) {
    if (kTopologyPolicyNames[i] == name) return static_cast<TopologyPolicy>(i);
  }
  return std::nullopt;
}
[[nodiscard]] constexpr std::optional<TopologyScope> parse_topology_scope(std::string_view name) {
  for (std::size_t i = 0; i < kTopologyScopeNames.size(); ++i) {
    if (kTopologyScopeNames[i] == name) return static_cast<TopologyScope>(i);
  }
  return std::nullopt;
}
[[nodiscard]] constexpr std::optional<NumaAllocationStrategy> parse_numa_allocation_strategy(
    std::string_view name) {
  for (std::size_t i = 0; i < kNumaAllocationStrategyNames.size(); ++i) {
    if (kNumaAllocationStrategyNames[i] == name) return static_cast<NumaAllocationStrategy>(i);
  }
  return std::nullopt;
}

}  // namespace pinfold
