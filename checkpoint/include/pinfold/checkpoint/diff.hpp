#pragma once

#include <string>
#include <vector>

#include "pinfold/checkpoint/kubelet_files.hpp"

/// Compares two states, object by object.
namespace pinfold::checkpoint {

struct Difference {
  std::string object;  ///< "shared pool", "POD", "POD/CONTAINER", "NUMA node 0 memory"
  std::string before;  ///< "": did not exist
  std::string after;

  friend bool operator==(const Difference&, const Difference&) = default;
};

/// Returns the differences in this order: shared pool or NUMA nodes, containers, pods; each sorted
/// by name. Compares only what the files hold.
[[nodiscard]] std::vector<Difference> diff(const CpuCheckpoint& before, const CpuCheckpoint& after);
[[nodiscard]] std::vector<Difference> diff(const MemoryCheckpoint& before,
                                           const MemoryCheckpoint& after);

}  // namespace pinfold::checkpoint
