#pragma once

#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"

/// CPUs of the node that are offline: what their containers have instead.
namespace pinfold::agent {

/// Where containers without exclusive CPUs run when only `cpus` are online: on those of `pool`, or,
/// if it has none of them, on those that are not `exclusive`; empty if there are none either, and
/// for an empty pool.
[[nodiscard]] CpuSet pool_in(const CpuSet& cpus, const CpuSet& pool, const CpuSet& exclusive);

/// `desired` on a machine where `offline` CPUs are missing. A container whose CPUs are all offline
/// runs on `pool` (see pool_in): it must run somewhere, and there it overlaps no exclusive CPUs.
[[nodiscard]] enforce::Layout without_cpus(enforce::Layout desired, const CpuSet& offline,
                                           const CpuSet& pool);

/// What becomes exclusive while CPUs are offline could leave the shared pool without any.
/// Errors: kUnsupported if a container or pod has exclusive CPUs in `after` that it has not in
/// `before`.
[[nodiscard]] Result<void> check_no_gains(const NodeState& before, const NodeState& after,
                                          const CpuSet& offline);

/// The effect of offline CPUs: one sentence for each container that has lost some, and one for the
/// shared pool.
[[nodiscard]] std::vector<std::string> lost_cpus(const Node& node, const AgentState& state,
                                                 const CpuSet& offline);

}  // namespace pinfold::agent
