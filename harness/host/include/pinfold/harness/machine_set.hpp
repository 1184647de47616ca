#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/harness/vm_machine.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::harness {

/// A machine to try a scenario on.
struct SetMachine {
  std::string name;  ///< "2s4c2t-snc2": sockets, cores of a socket, threads of a core
  VmMachine machine;
  CpuSet offline;  ///< CPUs that are taken offline first

  friend bool operator==(const SetMachine&, const SetMachine&) = default;
};

/// Returns the machines of a gauntlet, some 100 of them: 1 to 8 sockets with even and odd numbers
/// of cores, with and without SMT, with 1 to 4 NUMA nodes in a socket; up to 64 NUMA nodes; dies
/// and last-level caches; NUMA nodes without CPUs or without memory; rings and asymmetric
/// distances; offline CPUs, and cores of two kinds. `memory`: approximate bytes of each machine; a
/// NUMA node with memory has at least 128 MiB.
[[nodiscard]] std::vector<SetMachine> machine_set(std::uint64_t memory);

}  // namespace pinfold::harness
