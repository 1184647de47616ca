#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/types/quantity.hpp"

namespace pinfold {

/// How much of a resource one place of a machine has.
struct PlaceAmounts {
  /// OS ids of its NUMA nodes, ascending; empty if the place has none (devices without topology) or
  /// is the whole machine.
  std::vector<std::int32_t> numa_nodes;
  Quantity free;
  Quantity held;      ///< by containers
  Quantity reserved;  ///< for the system

  friend bool operator==(const PlaceAmounts&, const PlaceAmounts&) = default;
};

/// For explanations: how much of a resource a container or pod needs, and how much each place has.
struct Amounts {
  std::string resource;  ///< "cpu", "memory", "hugepages-2Mi", "example.com/gpu"
  Quantity needed;       ///< not zero
  std::vector<PlaceAmounts> places;

  friend bool operator==(const Amounts&, const Amounts&) = default;
};

/// Formats amounts: "needs 2 CPUs; NUMA 0: 1 free, 2 held, 1 reserved; NUMA 1: 2 free, 2 held, 0
/// reserved".
[[nodiscard]] std::string describe(const Amounts& amounts);

/// Returns "NUMA 0,1", or "no NUMA node".
[[nodiscard]] std::string describe_place(const PlaceAmounts& place);

}  // namespace pinfold
