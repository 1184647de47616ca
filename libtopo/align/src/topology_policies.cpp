#include "pinfold/align/topology_policies.hpp"

#include "merge.hpp"
#include "pinfold/align/topology_manager.hpp"
#include "single_numa.hpp"

namespace pinfold {

bool admits(TopologyPolicy policy, const TopologyHint& affinity) {
  switch (policy) {
    case TopologyPolicy::kNone:        // none: always; nothing is aligned
    case TopologyPolicy::kBestEffort:  // best-effort: always, aligned or not
      return true;
    case TopologyPolicy::kRestricted:      // restricted: only if aligned, on any set of nodes
    case TopologyPolicy::kSingleNumaNode:  // single-numa-node: only if aligned on one node
      break;
  }
  return affinity.preferred;
}

TopologyHint TopologyManager::choose_affinity(std::span<const ResourceHints> providers,
                                              const AllocationScores& scores) const {
  // none: ignores the hints.
  if (policy_ == TopologyPolicy::kNone) return {};
  const std::vector<align::HintsOfResource> hints = align::filter_hints(providers);
  align::MergeRules rules{NumaMask::all(numa_.count), nullptr};

  // single-numa-node: one node that every resource prefers. An affinity to every node of the
  // machine is stored as no affinity.
  if (policy_ == TopologyPolicy::kSingleNumaNode) {
    const auto mask = align::merge_single_numa(
        hints, rules, options_.prefer_most_allocated_numa_node ? &scores : nullptr);
    return {mask == rules.all ? std::nullopt : mask, mask.has_value()};
  }

  // best-effort, restricted: the best of all merged hints, preferred or not.
  if (options_.prefer_closest_numa_nodes) rules.distances = &numa_.distances;
  return align::merge_hints(hints, rules);
}

}  // namespace pinfold
