#pragma once

#include <map>

#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// Fills Cpu::l3: caches numbered from 0 by their lowest CPU (`l3_of`: CPU to that CPU). If any CPU
/// has no such cache, the socket's number stands in for all, as the kubelet takes it.
void number_caches(MachineDescription& description, const std::map<CpuId, CpuId>& l3_of);

}  // namespace pinfold
