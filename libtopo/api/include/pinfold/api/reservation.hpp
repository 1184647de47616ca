#pragma once

#include "pinfold/api/pod.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold {

/// What the node keeps from pods: the result of kubeReserved, systemReserved, evictionHard and
/// reservedSystemCPUs, as the kubelet's node allocatable computes it.
struct NodeReservation {
  /// Explicit reservedSystemCPUs; empty: reserve by count. If set, amounts["cpu"] is its size.
  CpuSet cpus;
  /// Reserved amount of each resource; "memory" includes the hard eviction threshold.
  ResourceList amounts;
};

}  // namespace pinfold
