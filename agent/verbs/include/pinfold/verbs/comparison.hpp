#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/enforce/layout.hpp"
#include "pinfold/types/pod_ref.hpp"

namespace pinfold::verbs {

/// A running container whose CPUs or memory nodes differ from Pinfold's choice.
struct CpusetDifference {
  ContainerRef container;
  CpuSet observed_cpus;
  CpuSet desired_cpus;  ///< empty: any CPU
  enforce::NodeSet observed_mems;
  enforce::NodeSet desired_mems;  ///< empty: any node
  std::string why_shared = {};    ///< why it would get no exclusive CPUs; empty if it would

  friend bool operator==(const CpusetDifference&, const CpusetDifference&) = default;
};

/// Compares the cpusets of a runtime's containers with Pinfold's choices.
struct Comparison {
  std::uint64_t compared = 0;  ///< number of running containers
  std::vector<CpusetDifference> differences;

  friend bool operator==(const Comparison&, const Comparison&) = default;
};

}  // namespace pinfold::verbs
