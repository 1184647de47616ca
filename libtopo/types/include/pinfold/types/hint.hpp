#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/types/numa_mask.hpp"

namespace pinfold {

/// The kubelet's TopologyHint: NUMA nodes that a resource could come from, and whether they are as
/// few as the machine allows. Without a mask: any nodes.
struct TopologyHint {
  std::optional<NumaMask> numa;
  bool preferred = false;

  friend bool operator==(const TopologyHint&, const TopologyHint&) = default;
};

/// The hints of one resource. No list: no preference. An empty list: impossible. The order is the
/// kubelet's (by number of nodes, then lexicographically) and part of the contract.
using HintList = std::optional<std::vector<TopologyHint>>;

/// The hints of one provider, by resource name. No entry: no preference.
using ResourceHints = std::map<std::string, HintList>;

}  // namespace pinfold
