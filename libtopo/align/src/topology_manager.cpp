#include "pinfold/align/topology_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "merge.hpp"
#include "pinfold/text/go_text.hpp"
#include "single_numa.hpp"

namespace pinfold {
namespace {

constexpr int kKubeletMaxNodes = 8;
// TopologyOptions explains what each option does.
constexpr std::string_view kMaxNodes = kTopologyOptionNames[0];
constexpr std::string_view kClosest = kTopologyOptionNames[1];
constexpr std::string_view kMostAllocated = kTopologyOptionNames[2];

Result<void> check_available(const std::string& name, const FeatureGates& gates) {
  const bool alpha = name == kMostAllocated;
  const bool beta = name == kClosest || name == kMaxNodes;
  if (!alpha && !beta) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unknown Topology Manager Policy option: {}", go::quote(name)));
  }
  const bool enabled = alpha ? gates.topology_manager_policy_alpha_options
                             : gates.topology_manager_policy_beta_options;
  if (!enabled) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("topology manager policy {}-level options not enabled, but option {} "
                            "provided",
                            alpha ? "alpha" : "beta", go::quote(name)));
  }
  return {};
}

Result<int> parse_max_nodes(const std::string& value) {
  const auto number = go::atoi(value);
  if (!number) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unable to convert policy option to integer {}: {}",
                            go::quote(kMaxNodes), number.error().message));
  }
  if (*number < kKubeletMaxNodes) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the minimum value of {} should not be less than {}",
                            go::quote(kMaxNodes), kKubeletMaxNodes));
  }
  return static_cast<int>(std::min<std::int64_t>(*number, std::numeric_limits<int>::max()));
}

// The kubelet walks a Go map; of several errors we report the first one by option name.
Result<TopologyOptions> parse_options(const Config& config) {
  const FeatureGates gates = config.gates();
  TopologyOptions options;
  // QUIRK: our merge does not grow exponentially, so it needs no limit of 8 nodes.
  options.max_allowable_numa_nodes =
      config.quirks().numa_nodes_limited_to_8 ? kKubeletMaxNodes : NumaMask::kMaxNodes;
  for (const auto& [name, value] : config.topology_manager_policy_options) {
    PINFOLD_TRY(check_available(name, gates));
    if (name == kMaxNodes) {
      PINFOLD_LET(const auto max_nodes, parse_max_nodes(value));
      options.max_allowable_numa_nodes = max_nodes;
      continue;
    }
    const auto on = go::parse_bool(value);
    if (!on) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("bad value for option {}: {}", go::quote(name), on.error().message));
    }
    (name == kClosest ? options.prefer_closest_numa_nodes
                      : options.prefer_most_allocated_numa_node) = *on;
  }
  return options;
}

bool has_distances(const TopologyManager::Numa& numa) {
  const auto count = static_cast<std::size_t>(numa.count);
  return numa.distances.size() >= count &&
         std::all_of(numa.distances.begin(), numa.distances.end(),
                     [&](const auto& row) { return row.size() >= count; });
}

Result<TopologyPolicy> read_policy(const std::string& name) {
  if (const auto policy = parse_topology_policy(name)) return *policy;
  return fail(ErrorCode::kInvalidArgument, fmt::format("unknown policy: \"{}\"", name));
}

Result<TopologyScope> read_scope(const std::string& name) {
  if (const auto scope = parse_topology_scope(name)) return *scope;
  return fail(ErrorCode::kInvalidArgument, fmt::format("unknown scope: \"{}\"", name));
}

}  // namespace

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

Result<TopologyManager> TopologyManager::make(Numa numa, const Config& config) {
  TopologyManager manager;
  manager.numa_ = std::move(numa);
  // With policy none the kubelet ignores the options, the scope and the machine.
  if (config.topology_manager_policy == to_string(TopologyPolicy::kNone)) return manager;

  PINFOLD_LET(manager.options_, parse_options(config));
  const TopologyOptions& options = manager.options_;
  if (options.prefer_closest_numa_nodes && !has_distances(manager.numa_)) {
    return fail(ErrorCode::kInvalidArgument,
                "cannot discover NUMA topology: error getting NUMA distances from cadvisor");
  }
  const int most = std::min(options.max_allowable_numa_nodes, NumaMask::kMaxNodes);
  if (manager.numa_.count > most) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unsupported on machines with more than {} NUMA Nodes", most));
  }
  PINFOLD_LET(manager.policy_, read_policy(config.topology_manager_policy));
  PINFOLD_LET(manager.scope_, read_scope(config.topology_manager_scope));
  return manager;
}

NumaId TopologyManager::numa_id(int position) const {
  return numa_.ids.empty() ? NumaId{position} : numa_.ids[static_cast<std::size_t>(position)];
}

MergedHint TopologyManager::merge(std::span<const ResourceHints> providers,
                                  const AllocationScores& scores) const {
  const TopologyHint affinity = choose_affinity(providers, scores);
  return {affinity, admits(policy_, affinity)};
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
