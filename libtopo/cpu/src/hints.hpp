#pragma once

#include <vector>

#include "cpu_hierarchy.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/hint.hpp"

namespace pinfold::cpu {

/// The input of make_hints().
struct HintRequest {
  const CpuSet* available = nullptr;  ///< free CPUs
  const CpuSet* reusable =
      nullptr;             ///< CPUs that the pod already has; a mask must cover all of them
  int count = 0;           ///< requested CPUs
  bool by_socket = false;  ///< align-by-socket
  int widest = 0;          ///< the largest number of NUMA nodes in a mask
};

/// Returns one hint for each set of NUMA nodes with enough CPUs, in the kubelet's order. Preferred
/// are sets with as few NUMA nodes as an empty machine would need; with align-by-socket also those
/// within the fewest sockets.
[[nodiscard]] std::vector<TopologyHint> make_hints(const Machine& machine,
                                                   const HintRequest& request);

}  // namespace pinfold::cpu
