#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pinfold/types/hint.hpp"

/// The steps of TopologyManager::merge. docs/topology-merge.md shows why the result equals the
/// kubelet's.
namespace pinfold::align {

/// The hints of one resource after the kubelet's filter. Borrows from the providers' maps.
struct HintsOfResource {
  std::string_view resource;  ///< empty for a provider without any entry
  std::span<const TopologyHint> hints;
};

/// The kubelet's filterProvidersHints: no list becomes {any, preferred}, an empty list becomes
/// {any, not preferred}.
[[nodiscard]] std::vector<HintsOfResource> filter_hints(std::span<const ResourceHints> providers);

/// How masks of one merge are compared.
struct MergeRules {
  NumaMask all;  ///< every NUMA node of the machine
  /// Of two masks of equal width, prefer the closer nodes; if nullptr, the lower mask.
  const std::vector<std::vector<std::uint32_t>>* distances = nullptr;
};

/// Merges the hints under best-effort and restricted. The result always has a mask: if no choice of
/// one hint per resource has a NUMA node in common, it is every node, not preferred.
[[nodiscard]] TopologyHint merge_hints(std::span<const HintsOfResource> resources,
                                       const MergeRules& rules);

}  // namespace pinfold::align
