#pragma once

#include <array>
#include <string>
#include <string_view>

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/types/ids.hpp"

/// Names that occur only in NodeResourceTopology objects.
namespace pinfold::predict {

inline constexpr std::string_view kPolicyAttribute = "topologyManagerPolicy";
inline constexpr std::string_view kScopeAttribute = "topologyManagerScope";
inline constexpr std::string_view kCpuPolicyAttribute = "cpuManagerPolicy";
inline constexpr std::string_view kMemoryPolicyAttribute = "memoryManagerPolicy";

/// Returns the name of the zone of a NUMA node, as exporters write it.
[[nodiscard]] inline std::string zone_name(NumaId id) { return "node-" + std::to_string(id.value); }

/// A name in the deprecated field topologyPolicies, which stands for a policy and a scope.
struct LegacyPolicy {
  std::string_view name;
  TopologyPolicy policy;
  TopologyScope scope;
};
inline constexpr std::array<LegacyPolicy, 9> kLegacyPolicies = {{
    {"None", TopologyPolicy::kNone, TopologyScope::kContainer},
    {"BestEffort", TopologyPolicy::kBestEffort, TopologyScope::kContainer},
    {"BestEffortContainerLevel", TopologyPolicy::kBestEffort, TopologyScope::kContainer},
    {"BestEffortPodLevel", TopologyPolicy::kBestEffort, TopologyScope::kPod},
    {"Restricted", TopologyPolicy::kRestricted, TopologyScope::kContainer},
    {"RestrictedContainerLevel", TopologyPolicy::kRestricted, TopologyScope::kContainer},
    {"RestrictedPodLevel", TopologyPolicy::kRestricted, TopologyScope::kPod},
    {"SingleNUMANodeContainerLevel", TopologyPolicy::kSingleNumaNode, TopologyScope::kContainer},
    {"SingleNUMANodePodLevel", TopologyPolicy::kSingleNumaNode, TopologyScope::kPod},
}};

[[nodiscard]] constexpr const LegacyPolicy* find_legacy(std::string_view name) {
  for (const LegacyPolicy& known : kLegacyPolicies) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

}  // namespace pinfold::predict
