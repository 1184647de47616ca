#pragma once
#include <pinfold/machine/machine.hpp>

/// Four CPUs on one NUMA node.
inline pinfold::Result<pinfold::Machine> four_cpus() {
  using namespace pinfold;
  MachineDescription description;
  for (int cpu = 0; cpu < 4; ++cpu) {
    description.cpus.push_back({CpuId{cpu}, CoreId{cpu}, SocketId{0}, NumaId{0}, CacheId{0}});
  }
  description.numa_nodes.push_back({NumaId{0}, 4ULL << 30U, {}, {}});
  return Machine::make(std::move(description));
}
