#pragma once

#include <cstdint>
#include <utility>

#include "pinfold/machine/machine.hpp"

namespace pinfold::test {

/// Returns a machine on which kubelets 1.36 and 1.37 cannot spread 8 CPUs with CPU 0 reserved.
/// Socket 0 has four NUMA nodes of three CPUs, and one with only CPU 0; socket 1 has twelve of one
/// CPU. Each NUMA node has 1 GiB.
inline Machine uneven_machine() {
  MachineDescription description;
  const auto add_node = [&](int socket, int cpus) {
    const auto node = static_cast<std::int32_t>(description.numa_nodes.size());
    description.numa_nodes.push_back({NumaId{node}, std::uint64_t{1} << 30U, {}, {}});
    for (int i = 0; i < cpus; ++i) {
      const auto id = static_cast<std::int32_t>(description.cpus.size());
      description.cpus.push_back(
          {CpuId{id}, CoreId{id}, SocketId{socket}, NumaId{node}, CacheId{socket}});
    }
  };
  add_node(0, 1);
  for (int i = 0; i < 4; ++i) add_node(0, 3);
  for (int i = 0; i < 12; ++i) add_node(1, 1);
  return Machine::make(std::move(description)).value();
}

}  // namespace pinfold::test
