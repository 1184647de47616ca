#pragma once

#include <pinfold/decide.h>

#include <cstdint>
#include <vector>

namespace pinfold::test {

/// The lists of a machine for pinfold_decide.
struct DescribedMachine {
  std::vector<pinfold_cpu> cpus;
  std::vector<std::int32_t> numa;
  std::vector<std::uint64_t> memory;  ///< by kind, then by NUMA node
  std::vector<std::uint32_t> distances;
  std::vector<std::int32_t> reserved;

  /// Returns a description that borrows the lists. Memory and distances are NULL if they are empty;
  /// no reserved CPU is an empty list.
  [[nodiscard]] pinfold_machine_description describe() const {
    static constexpr std::int32_t kNone = 0;
    pinfold_machine_description description = PINFOLD_MACHINE_DESCRIPTION_INIT;
    description.cpus = cpus.data();
    description.cpu_count = cpus.size();
    description.numa = numa.data();
    description.numa_count = numa.size();
    description.memory = memory.empty() ? nullptr : memory.data();
    description.memory_kinds = numa.empty() ? 0 : memory.size() / numa.size();
    description.distances = distances.empty() ? nullptr : distances.data();
    description.reserved = reserved.empty() ? &kNone : reserved.data();
    description.reserved_count = reserved.size();
    return description;
  }
};

}  // namespace pinfold::test
