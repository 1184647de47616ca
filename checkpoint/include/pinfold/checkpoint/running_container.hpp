#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pinfold/api/pod.hpp"
#include "pinfold/types/container_id.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::checkpoint {

/// A running container, as observed in the kernel.
struct RunningContainer {
  ContainerId id;                        ///< the name is "" if no file names the container
  std::string group;                     ///< the directory of its control group
  bool is_known = false;                 ///< the kubelet has a directory of its pod
  QosClass qos = QosClass::kGuaranteed;  ///< of its pod
  CpuSet cpus = {};                      ///< where it may run; empty: cannot be read
  CpuSet mems = {};                      ///< NUMA nodes by OS id; empty: cannot be read
  /// Its CPU limit, from the CFS quota; nullopt: none, which is usual with exclusive CPUs since
  /// kubelet 1.33.
  std::optional<std::int64_t> limit_milli_cpu = {};

  friend bool operator==(const RunningContainer&, const RunningContainer&) = default;
};

/// An assignment that was read back from the control group of a running container.
struct ReadBack {
  std::string object;    ///< POD/CONTAINER; POD: the pod-level reservation; "shared pool"
  std::string resource;  ///< "cpu" or "memory"
  std::string text;      ///< "CPUs 2-3"
  std::string source;    ///< the kernel's file; for several containers that of the first

  friend bool operator==(const ReadBack&, const ReadBack&) = default;
};

}  // namespace pinfold::checkpoint
