#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"

namespace pinfold {

/// The current cpuset of a container that already runs.
struct Place {
  CpuSet cpus;
  std::vector<std::int32_t> mems;  ///< OS ids of NUMA nodes; empty: any

  friend bool operator==(const Place&, const Place&) = default;
};
/// By container name; only containers with a cpuset.
using Places = std::map<std::string, Place>;

/// Decides a pod of which some containers are already running. If the rules permit it, containers
/// with exclusive CPUs keep those of their places; otherwise the same as decide().
[[nodiscard]] Decision decide_keeping(const Node& node, NodeState state, const PodSpec& pod,
                                      const Places& places, Trace* trace = nullptr,
                                      Counts* counts = nullptr,
                                      AdmissionChecks checks = AdmissionChecks::kManagers);

}  // namespace pinfold
