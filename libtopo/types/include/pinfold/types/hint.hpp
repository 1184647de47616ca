#pragma once

#include <cstdint>
#include <functional>
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

/// How much of a resource is assigned on a NUMA node or, for a device, on all those that it belongs
/// to: CPUs, bytes or devices.
struct NumaUsage {
  NumaMask nodes;
  std::uint64_t assigned = 0;
  std::uint64_t allocatable = 0;

  friend bool operator==(const NumaUsage&, const NumaUsage&) = default;
};
/// By resource name. Resources of a manager that assigns nothing (policy none) are missing.
using UsageByResource = std::map<std::string, std::vector<NumaUsage>, std::less<>>;

}  // namespace pinfold
