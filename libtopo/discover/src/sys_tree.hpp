#pragma once

#include "pinfold/base/result.hpp"
#include "pinfold/discover/source.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// Reads the description of a machine from the kernel's files below a root.
[[nodiscard]] Result<MachineDescription> read_sys_tree(const SysTree& source);

/// Returns `known` with the NUMA nodes, the memory and the warnings that the files have now.
[[nodiscard]] Result<MachineDescription> read_numa_nodes_again(const SysTree& source,
                                                               MachineDescription known);

}  // namespace pinfold
