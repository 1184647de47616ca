#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/explain/amount_text.hpp"
#include "pinfold/types/named.hpp"

/// Phrases that several parts of an explanation use.
namespace pinfold::explain_detail {

/// Returns "shop/db".
[[nodiscard]] std::string name_of(const PodSpec& pod);
/// Returns "shop/db"; the UID of a held pod without a name.
[[nodiscard]] std::string name_of(const NodeState& state, const PodUid& uid);

/// Returns "1 CPU", "1500m CPUs", "2Gi of memory", "2 example.com/gpu".
[[nodiscard]] std::string of_resource(const Quantity& amount, const std::string& resource,
                                      AmountRounding rounding);

/// Returns "NUMA node 1", "NUMA nodes 0 and 1", "the node".
[[nodiscard]] std::string numa_nodes(const std::vector<std::int32_t>& ids);

/// Returns how many CPUs the cores of a machine have: "2", "1 or 2".
[[nodiscard]] std::string core_sizes(const Machine& machine);

/// Returns "performance 2-3" and "efficiency 4-5" for CPUs of a hybrid machine; nothing for others.
[[nodiscard]] std::vector<std::string> core_kinds(const Machine& machine, const CpuSet& cpus);

/// Returns what limits the number of pods: "maxPods allows 4", "podsPerCore: 2 on 4 CPUs allows 8".
/// Domain: there is a limit.
[[nodiscard]] std::string pods_limit(const Node& node);

using pinfold::listed;

}  // namespace pinfold::explain_detail
