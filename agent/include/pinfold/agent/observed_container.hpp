#pragma once

#include <cstddef>
#include <optional>

#include "pinfold/enforce/affinity.hpp"
#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/enforce/layout.hpp"

namespace pinfold::agent {

/// One container as observed in the kernel.
struct ObservedContainer {
  CpuSet effective_cpus;
  enforce::NodeSet effective_mems;
  std::size_t processes = 0;
  /// Share of its processes' resident memory on the NUMA nodes that it may use, 0 to 1.
  double page_placement = 1;
  enforce::Affinity affinity;  ///< empty without a process table
  /// The quota of its own group, and of that group's parent; nullopt if unknown.
  std::optional<enforce::CpuQuota> quota;
  std::optional<enforce::CpuQuota> quota_above;
};

}  // namespace pinfold::agent
