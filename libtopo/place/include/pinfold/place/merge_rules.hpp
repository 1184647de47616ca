#pragma once

#include <cstddef>
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

/// Returns the sum of the distances between all NUMA nodes of a mask. The kubelet compares
/// averages; for masks of equal width, sums have the same order. `distances`: row by row; without
/// any, 0.
[[nodiscard]] inline std::uint64_t distance_within(NumaMask mask,
                                                   std::span<const std::uint32_t> distances,
                                                   int nodes) {
  if (distances.empty()) return 0;
  std::uint64_t sum = 0;
  for (const int from : mask.positions()) {
    const auto row = static_cast<std::size_t>(from) * static_cast<std::size_t>(nodes);
    for (const int to : mask.positions()) sum += distances[row + static_cast<std::size_t>(to)];
  }
  return sum;
}

struct MergeRules {
  TopologyPolicy policy = TopologyPolicy::kNone;
  int nodes = 0;  ///< of the machine
  /// prefer-closest-numa-nodes: of two masks of equal width, the closer nodes win; row by row. If
  /// empty, the lower mask wins.
  std::span<const std::uint32_t> distances = {};
  /// Decides between masks that are otherwise equally good, by the usage of the resources.
  NumaAllocationStrategy strategy = NumaAllocationStrategy::kNone;
  /// For prefer-most-allocated-numa-node; nullptr: the option is off.
  const Scores* scores = nullptr;

  [[nodiscard]] NumaMask all() const { return NumaMask::all(nodes); }
};

}  // namespace pinfold::place
