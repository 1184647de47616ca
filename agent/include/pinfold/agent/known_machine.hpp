#pragma once

#include "pinfold/agent/log.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::agent {

/// A machine, and which of its CPUs are offline.
struct KnownMachine {
  Machine machine;
  CpuSet offline;
};

/// `observed`, unless the state was written on the same machine with more CPUs: then that machine,
/// so that a CPU that is taken offline does not make the state unreadable. The same machine: every
/// CPU of `observed` is on the same socket and NUMA node, and the NUMA nodes are the same. A state
/// directory without a state, or with a .pinfold_node that cannot be read, knows no machine.
/// DEVIATION: a kubelet does not start on such a node.
[[nodiscard]] KnownMachine known_machine(Machine observed, checkpoint::Store& store,
                                         const LogSink& log);
/// The same for the machine that a state is for.
[[nodiscard]] KnownMachine known_machine(Machine observed, Machine known);

}  // namespace pinfold::agent
