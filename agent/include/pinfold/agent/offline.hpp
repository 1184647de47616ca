#pragma once

#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"

/// What containers lose while CPUs are offline.
namespace pinfold::agent {

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
