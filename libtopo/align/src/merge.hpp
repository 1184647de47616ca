#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pinfold/align/topology_manager.hpp"

/// The merge behind TopologyManager::merge, in parts. docs/topology-merge.md has the argument why
/// its answer is the kubelet's.
namespace pinfold::align {

/// What one resource offers after the kubelet's filter: no list has become {any, preferred}, an
/// empty list {any, not preferred}. Borrows from the providers' maps.
struct Offer {
  std::string_view resource;  ///< empty for a provider without any entry
  std::span<const TopologyHint> hints;
};

[[nodiscard]] std::vector<Offer> collect_offers(std::span<const ResourceHints> providers);

/// What is the same for every mask of one merge.
struct MergeRules {
  NumaMask all;  ///< every node of the machine
  /// Of two masks of one width prefer the closer nodes; nullptr: prefer the lower mask.
  const std::vector<std::vector<std::uint32_t>>* distances = nullptr;
};

/// The merge of policies best-effort and restricted. Never without nodes: where no choice of one
/// hint per resource has a node in common it is every node, not preferred.
[[nodiscard]] TopologyHint merge_hints(std::span<const Offer> offers, const MergeRules& rules);

}  // namespace pinfold::align
