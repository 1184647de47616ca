#pragma once

#include <map>

#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// Sets Cpu::l3 to cache numbers, starting at 0, in the order of the lowest CPU of each cache
/// (`l3_of` maps a CPU to the lowest CPU of its cache). If any CPU has no cache, all get the number
/// of their socket, as in the kubelet.
void number_caches(MachineDescription& description, const std::map<CpuId, CpuId>& l3_of);

}  // namespace pinfold
