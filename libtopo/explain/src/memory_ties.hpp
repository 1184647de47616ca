#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace pinfold::explain_detail {

/// NUMA nodes that serve other containers: until those end, the memory manager gives a container
/// memory of exactly these NUMA nodes or of none of them. See place::MemoryRule.
struct MemoryTie {
  std::vector<std::int32_t> numa_nodes;  ///< OS ids, ascending
  std::vector<std::string> holders;      ///< "shop/db", "its earlier containers"
};

/// Returns the ties at the step that failed, in the order of their NUMA nodes; none for an object
/// without memory.
[[nodiscard]] std::vector<MemoryTie> find_ties(const Failure& failure);

/// Returns "NUMA node 0 alone", "NUMA nodes 1 and 2 together".
[[nodiscard]] std::string set_of(const MemoryTie& tie);

/// Returns "shop/db has memory on NUMA node 0 alone", "... on NUMA nodes 1 and 2 together".
[[nodiscard]] std::string describe(const MemoryTie& tie);

/// Returns the fewest NUMA nodes from which the memory manager would give the failed container or
/// pod its memory if it had no affinity; empty if there are none.
[[nodiscard]] std::vector<std::int32_t> serving_nodes(const Failure& failure);

}  // namespace pinfold::explain_detail
