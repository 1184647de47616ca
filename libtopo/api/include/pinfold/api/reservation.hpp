#pragma once

#include "pinfold/api/pod.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold {

/// The resources reserved for the system: the result of kubeReserved, systemReserved, evictionHard
/// and reservedSystemCPUs, computed like the kubelet's node allocatable.
struct NodeReservation {
  /// reservedSystemCPUs; if empty, CPUs are reserved by count. If set, amounts["cpu"] is its size.
  CpuSet cpus;
  /// Reserved amount of each resource; "memory" includes the hard eviction threshold.
  ResourceList amounts;
};

}  // namespace pinfold
