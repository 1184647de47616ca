#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/picture/picture.hpp"

namespace pinfold::tools {

/// CPUs that are neither exclusive to a container nor reserved, and how they are distributed.
struct FreeCpus {
  CpuSet cpus;
  std::size_t whole_cores = 0;  ///< cores whose CPUs are all free
  std::size_t in_parts = 0;     ///< free CPUs in other cores
};
[[nodiscard]] FreeCpus free_cpus(const Machine& machine, const Overlay& overlay,
                                 const CpuSet& among);
/// Returns the bytes that are neither reserved nor held.
[[nodiscard]] std::uint64_t free_bytes(const MemoryUse& memory);
/// Describes the fragmentation: "Free: 20 CPUs (9 whole cores, 2 in split cores), at most 12 on one
/// NUMA node", and the same for memory.
[[nodiscard]] std::vector<std::string> fragmentation(const Machine& machine,
                                                     const Picture& picture);

/// Draws free CPUs and memory of each NUMA node; "" if the picture has none.
[[nodiscard]] std::string draw_numa_use(const Machine& machine, const Picture& picture);

}  // namespace pinfold::tools
