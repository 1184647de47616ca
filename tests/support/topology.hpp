#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "naive_merge.hpp"

/// Short ways to write topology managers and hints in tests.
namespace pinfold {

inline std::ostream& operator<<(std::ostream& out, const TopologyHint& hint) {
  return out << (hint.numa ? hint.numa->to_string() : "any") << (hint.preferred ? "+" : "-");
}

inline std::ostream& operator<<(std::ostream& out, const MergedHint& merged) {
  return out << merged.best << (merged.admit ? " admitted" : " rejected");
}

}  // namespace pinfold

namespace pinfold::test {

using Hints = std::vector<TopologyHint>;

inline TopologyHint on(std::uint64_t bits) { return {NumaMask(bits), true}; }
inline TopologyHint off(std::uint64_t bits) { return {NumaMask(bits), false}; }

/// Orders a provider's list: by number of nodes, then lexicographically.
inline bool hint_order(const TopologyHint& a, const TopologyHint& b) {
  if (!a.numa || !b.numa) return !a.numa && b.numa;
  if (a.numa->count() != b.numa->count()) return a.numa->count() < b.numa->count();
  const std::uint64_t different = a.numa->bits() ^ b.numa->bits();
  return (different & (~different + 1) & a.numa->bits()) != 0;
}

inline Config config_of(TopologyPolicy policy, const TopologyOptions& options) {
  Config config;
  config.topology_manager_policy = to_string(policy);
  if (options.prefer_closest_numa_nodes) {
    config.topology_manager_policy_options["prefer-closest-numa-nodes"] = "true";
  }
  if (options.numa_allocation_strategy != NumaAllocationStrategy::kNone) {
    config.feature_gates["TopologyManagerPolicyAlphaOptions"] = true;
    config.topology_manager_policy_options["numa-allocation-strategy"] =
        to_string(options.numa_allocation_strategy);
  }
  if (!options.numa_score_weights.empty()) {
    config.feature_gates["TopologyManagerPolicyAlphaOptions"] = true;
    std::string& weights = config.topology_manager_policy_options["numa-score-weights"];
    for (const auto& [resource, weight] : options.numa_score_weights) {
      weights += resource + "=" + std::to_string(weight) + ",";
    }
  }
  if (options.prefer_most_allocated_numa_node) {
    config.feature_gates["TopologyManagerPolicyAlphaOptions"] = true;
    config.topology_manager_policy_options["prefer-most-allocated-numa-node"] = "true";
  }
  return config;
}

/// Returns a manager. Domain: rules for which TopologyManager::make succeeds.
inline TopologyManager manager_of(const NaiveRules& rules) {
  return TopologyManager::make({rules.nodes, rules.distances},
                               config_of(rules.policy, rules.options))
      .value();
}

/// Returns distances: 10 on the diagonal, 21 elsewhere.
inline std::vector<std::vector<std::uint32_t>> flat_distances(int nodes) {
  const auto n = static_cast<std::size_t>(nodes);
  std::vector<std::vector<std::uint32_t>> distances(n, std::vector<std::uint32_t>(n, 21));
  for (std::size_t i = 0; i < n; ++i) distances[i][i] = 10;
  return distances;
}

/// Returns the usage of NUMA nodes with these percentages assigned.
inline std::vector<NumaUsage> usage_of(const std::vector<int>& per_cent) {
  std::vector<NumaUsage> usage;
  for (const int of_node : per_cent) {
    usage.push_back(
        {NumaMask::of(static_cast<int>(usage.size())), static_cast<std::uint64_t>(of_node), 100});
  }
  return usage;
}

inline std::string describe(const std::vector<ResourceHints>& providers) {
  std::string text;
  for (const ResourceHints& provider : providers) {
    text += "{";
    for (const auto& [resource, hints] : provider) {
      text += " " + resource + ":";
      if (!hints) text += " no preference";
      if (hints && hints->empty()) text += " impossible";
      for (const TopologyHint& hint : hints.value_or(Hints{})) {
        text += " " + (hint.numa ? hint.numa->to_string() : "any") + (hint.preferred ? "+" : "-");
      }
    }
    text += " }";
  }
  return text;
}

}  // namespace pinfold::test
