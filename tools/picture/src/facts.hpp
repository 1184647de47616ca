#pragma once

#include <cstddef>
#include <string>

#include "pinfold/machine/machine.hpp"
#include "pinfold/picture/picture.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold::tools {

/// Formats distances, and PCI devices if the picture has them. Distances between more than `most`
/// NUMA nodes are summed up.
[[nodiscard]] std::string more_facts(const Machine& machine, const Picture& picture,
                                     std::size_t most = NumaMask::kMaxNodes);

}  // namespace pinfold::tools
