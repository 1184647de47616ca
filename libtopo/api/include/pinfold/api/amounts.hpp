#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/types/quantity.hpp"

namespace pinfold {

/// What one place of a machine has of a resource.
struct PlaceAmounts {
  /// OS ids of its NUMA nodes, ascending; empty: the place has none (devices without topology), or
  /// is the machine as a whole.
  std::vector<std::int32_t> numa_nodes;
  Quantity free;
  Quantity held;      ///< by containers
  Quantity reserved;  ///< for the system

  friend bool operator==(const PlaceAmounts&, const PlaceAmounts&) = default;
};

/// For explanations: what a container or a pod needs of a resource, and what each place has of it.
struct Amounts {
  std::string resource;  ///< "cpu", "memory", "hugepages-2Mi", "example.com/gpu"
  Quantity needed;       ///< not zero
  std::vector<PlaceAmounts> places;

  friend bool operator==(const Amounts&, const Amounts&) = default;
};

/// "needs 2 CPUs; NUMA 0: 1 free, 2 held, 1 reserved; NUMA 1: 2 free, 2 held, 0 reserved".
[[nodiscard]] std::string describe(const Amounts& amounts);

/// "NUMA 0,1", or "no NUMA node".
[[nodiscard]] std::string describe_place(const PlaceAmounts& place);

}  // namespace pinfold
