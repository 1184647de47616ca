#pragma once

#include "pinfold/base/result.hpp"
#include "pinfold/discover/source.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// Reads the description of a machine from the kernel's files below a root.
[[nodiscard]] Result<MachineDescription> read_sys_tree(const SysTree& source);

}  // namespace pinfold
