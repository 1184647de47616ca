#pragma once

#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"

/// What containers get in place of CPUs that are offline.
namespace pinfold::agent {

/// Returns the CPUs of containers without exclusive CPUs when only `cpus` are online: those of
/// `pool`, or those that are not `exclusive` if the whole pool is offline. Empty if there are none,
/// and for an empty pool.
[[nodiscard]] CpuSet pool_in(const CpuSet& cpus, const CpuSet& pool, const CpuSet& exclusive);

/// Returns `desired` without the `offline` CPUs. A container whose CPUs are all offline gets `pool`
/// (see pool_in): it must run somewhere, and there it overlaps no exclusive CPUs.
[[nodiscard]] enforce::Layout without_cpus(enforce::Layout desired, const CpuSet& offline,
                                           const CpuSet& pool);

/// Checks that no CPUs become exclusive while some are offline: the shared pool might be left
/// without CPUs. Errors: kUnsupported if a container has exclusive CPUs in `after` that it did not
/// have in `before`.
[[nodiscard]] Result<void> check_no_gains(const NodeState& before, const NodeState& after,
                                          const CpuSet& offline);

/// Describes the effect of offline CPUs: one sentence per container that has lost exclusive CPUs,
/// and one for the shared pool.
[[nodiscard]] std::vector<std::string> lost_cpus(const Node& node, const AgentState& state,
                                                 const CpuSet& offline);

}  // namespace pinfold::agent
