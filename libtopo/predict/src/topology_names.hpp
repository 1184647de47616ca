#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "pinfold/align/topology_manager.hpp"

/// The words of NodeResourceTopology objects.
namespace pinfold::predict {

inline constexpr std::string_view kPolicyAttribute = "topologyManagerPolicy";
inline constexpr std::string_view kScopeAttribute = "topologyManagerScope";

struct NamedPolicy {
  std::string_view name;
  TopologyPolicy policy;
};
inline constexpr std::array<NamedPolicy, 4> kPolicies = {{
    {"none", TopologyPolicy::kNone},
    {"best-effort", TopologyPolicy::kBestEffort},
    {"restricted", TopologyPolicy::kRestricted},
    {"single-numa-node", TopologyPolicy::kSingleNumaNode},
}};

[[nodiscard]] constexpr std::optional<TopologyPolicy> policy_of(std::string_view name) {
  for (const NamedPolicy& known : kPolicies) {
    if (known.name == name) return known.policy;
  }
  return std::nullopt;
}

[[nodiscard]] constexpr std::optional<TopologyScope> scope_of(std::string_view name) {
  if (name == "container") return TopologyScope::kContainer;
  if (name == "pod") return TopologyScope::kPod;
  return std::nullopt;
}

/// What a name in topologyPolicies stands for: policy and scope in one.
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
