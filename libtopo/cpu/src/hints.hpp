#pragma once

#include <vector>

#include "hierarchy.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/hint.hpp"

namespace pinfold::cpu {

/// What hints are made from.
struct HintQuestion {
  const CpuSet* available = nullptr;  ///< free CPUs
  const CpuSet* reusable = nullptr;   ///< CPUs that the pod has already: a mask must hold them all
  int count = 0;                      ///< CPUs wanted
  bool by_socket = false;             ///< align-by-socket
  int widest = 0;                     ///< no masks of more nodes than that
};

/// One hint for each set of NUMA nodes that holds enough CPUs, in the kubelet's order; preferred
/// are those of the least number of nodes that an empty machine would need.
[[nodiscard]] std::vector<TopologyHint> make_hints(const Machine& machine,
                                                   const HintQuestion& question);

}  // namespace pinfold::cpu
