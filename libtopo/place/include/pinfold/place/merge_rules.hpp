#pragma once

#include <cstdint>
#include <span>

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold::place {

/// How much of each NUMA node is allocated, in per cent, by position; a manager with an empty list
/// does not take part.
struct Scores {
  std::span<const int> cpu = {};
  std::span<const int> memory = {};
};

struct MergeRules {
  TopologyPolicy policy = TopologyPolicy::kNone;
  int nodes = 0;  ///< of the machine
  /// prefer-closest-numa-nodes: of two masks of equal width, the closer nodes win; row by row. If
  /// empty, the lower mask wins.
  std::span<const std::uint32_t> distances = {};
  /// Decides between masks that are otherwise equally good, by the usage of the resources.
  NumaAllocationStrategy strategy = NumaAllocationStrategy::kNone;
  /// prefer-most-allocated-numa-node; unless nullptr.
  const Scores* scores = nullptr;

  [[nodiscard]] NumaMask all() const { return NumaMask::all(nodes); }
};

}  // namespace pinfold::place
