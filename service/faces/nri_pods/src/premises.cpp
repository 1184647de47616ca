#include "pinfold/nri_pods/premises.hpp"

#include <algorithm>

namespace pinfold::nri {

Premises make_premises(const Node& node, PodLevelUse pod_level) {
  const auto& numa_nodes = node.machine().numa_nodes();
  // Every kernel has sizes; only pages count.
  const bool has_huge_pages =
      std::any_of(numa_nodes.begin(), numa_nodes.end(), [](const auto& numa) {
        return std::any_of(numa.hugepages.begin(), numa.hugepages.end(),
                           [](const auto& pages) { return pages.second > 0; });
      });
  Premises premises;
  premises.gates = node.gates();
  premises.pod_level = pod_level;
  premises.pod_scope = node.topology().policy() != TopologyPolicy::kNone &&
                       node.topology().scope() == TopologyScope::kPod;
  premises.huge_pages = has_huge_pages && node.memory().is_static();
  premises.memory = node.machine().memory();
  return premises;
}

}  // namespace pinfold::nri
