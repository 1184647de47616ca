#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/types/numa_mask.hpp"

namespace pinfold {

/// The kubelet's TopologyHint: where a resource could come from, and whether that is as narrow as
/// the machine allows. No mask means "anywhere".
struct TopologyHint {
  std::optional<NumaMask> numa;
  bool preferred = false;

  friend bool operator==(const TopologyHint&, const TopologyHint&) = default;
};

/// The hints of one resource. No list: no preference. An empty list: impossible. The order is the
/// kubelet's (by number of nodes, then lexicographically) and part of the contract.
using HintList = std::optional<std::vector<TopologyHint>>;

/// What one provider offers: resource name to its hints. No entry at all: no preference.
using ResourceHints = std::map<std::string, HintList>;

}  // namespace pinfold
