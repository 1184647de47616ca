#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"

namespace pinfold {

/// What a container that runs already can use, whoever gave it.
struct Place {
  CpuSet cpus;
  std::vector<std::int32_t> mems;  ///< OS ids of NUMA nodes; empty: any

  friend bool operator==(const Place&, const Place&) = default;
};
/// By the name of the container; those that have a cpuset.
using Places = std::map<std::string, Place>;

/// Decides about a pod some of whose containers run already: if the rules allow that those with
/// exclusive CPUs have the ones of their places, they keep them. Else as decide().
[[nodiscard]] Decision decide_keeping(const Node& node, NodeState state, const PodSpec& pod,
                                      const Places& places, Trace* trace = nullptr,
                                      Counts* counts = nullptr,
                                      AdmissionChecks checks = AdmissionChecks::kManagers);

}  // namespace pinfold
