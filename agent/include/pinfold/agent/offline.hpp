#pragma once

#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/pod_ref.hpp"

/// What containers lose while CPUs are offline.
namespace pinfold::agent {

/// Returns whether a container has exclusive CPUs in `after` that it did not have in `before`.
[[nodiscard]] bool gains_cpus(const NodeState& before, const NodeState& after);

/// Returns whether a container of the pod needs more exclusive CPUs than it has.
[[nodiscard]] bool needs_cpus(const Node& node, const NodeState& state, const PodSpec& pod);

/// Returns whose exclusive CPUs these are: "a/x/c has them", "4 of a/x/c, 14-15 of no container",
/// "no container has them".
[[nodiscard]] std::string owners_of(const ContainerMap<CpuSet>& assignments, const PodNames& names,
                                    CpuSet cpus);

/// Returns a text: no container gets exclusive CPUs while some are offline, and whose these are.
/// Domain: `offline` is not empty.
[[nodiscard]] std::string offline_cause(const NodeState& state, const CpuSet& offline);
/// Returns offline_cause() with the command that brings the CPUs back, and the one for a machine
/// that has lost them for good.
[[nodiscard]] std::string offline_text(const NodeState& state, const CpuSet& offline);
/// Returns "chcpu --enable 4,14-15".
[[nodiscard]] std::string online_command(const CpuSet& cpus);

/// Checks that no CPUs become exclusive while some are offline: the shared pool might be left
/// without CPUs. Errors: kUnsupported with offline_text() if gains_cpus().
[[nodiscard]] Result<void> check_no_gains(const NodeState& before, const NodeState& after,
                                          const CpuSet& offline);

/// Describes the effect of offline CPUs: one sentence per container that has lost exclusive CPUs,
/// and one for the shared pool.
[[nodiscard]] std::vector<std::string> lost_cpus(const Node& node, const AgentState& state,
                                                 const CpuSet& offline);

}  // namespace pinfold::agent
