#pragma once

#include "pinfold/discover/discover.hpp"

namespace pinfold {

/// What the kernel's files below a root say of a machine.
[[nodiscard]] Result<MachineDescription> read_sys_tree(const SysTree& source);

}  // namespace pinfold
