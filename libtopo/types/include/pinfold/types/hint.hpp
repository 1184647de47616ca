#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/types/numa_mask.hpp"

namespace pinfold {

/// The kubelet's TopologyHint: a set of NUMA nodes that could provide a resource, and whether it is
/// as small as the machine allows (preferred). Without a mask, any NUMA nodes will do.
struct TopologyHint {
  std::optional<NumaMask> numa;
  bool preferred = false;

  friend bool operator==(const TopologyHint&, const TopologyHint&) = default;
};

/// The hints of one resource. No list means no preference; an empty list means that no NUMA nodes
/// can satisfy the request. The order is the kubelet's (by number of nodes, then lexicographically)
/// and part of the contract.
using HintList = std::optional<std::vector<TopologyHint>>;

/// The hints of one provider by resource name. A missing entry means no preference.
using ResourceHints = std::map<std::string, HintList>;

/// How much of each NUMA node is allocated, in per cent, by position. A manager with an empty list
/// does not take part.
struct AllocationScores {
  std::vector<int> cpu;
  std::vector<int> memory;
};

}  // namespace pinfold
