#pragma once

#include <vector>

#include "hierarchy.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/hint.hpp"

namespace pinfold::cpu {

/// A request for which hints are made.
struct HintRequest {
  const CpuSet* available = nullptr;  ///< free CPUs
  const CpuSet* reusable =
      nullptr;             ///< CPUs that the pod has already: a mask must contain them all
  int count = 0;           ///< requested CPUs
  bool by_socket = false;  ///< align-by-socket
  int widest = 0;          ///< the largest number of NUMA nodes in a mask
};

/// One hint for each set of NUMA nodes that has enough CPUs, in the kubelet's order. Preferred are
/// sets with the fewest NUMA nodes that an empty machine would need; with align-by-socket also
/// those within the fewest sockets.
[[nodiscard]] std::vector<TopologyHint> make_hints(const Machine& machine,
                                                   const HintRequest& request);

}  // namespace pinfold::cpu
