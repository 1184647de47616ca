#pragma once

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Two sockets with two cores of two threads each, one NUMA node per socket.
inline VmMachine two_sockets() {
  VmMachine machine;
  machine.sockets = 2;
  machine.cores = 2;
  machine.threads = 2;
  machine.nodes = {{CpuSet::range(0, 3), 512U << 20, {}}, {CpuSet::range(4, 7), 256U << 20, {}}};
  machine.distances = {{10, 21}, {12, 10}};
  return machine;
}

}  // namespace pinfold::harness
