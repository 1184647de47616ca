#include "pinfold/align/topology_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "filter_hints.hpp"
#include "pinfold/place/merge.hpp"
#include "pinfold/text/go_text.hpp"

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
  if (options.prefer_closest_numa_nodes) {
    for (int row = 0; row < manager.numa_.count; ++row) {
      const auto& distances = manager.numa_.distances[static_cast<std::size_t>(row)];
      manager.distances_.insert(manager.distances_.end(), distances.begin(),
                                distances.begin() + manager.numa_.count);
    }
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
  std::vector<place::Hints> resources;
  std::size_t listed = 0;
  for (const align::HintsOfResource& of_resource : align::filter_hints(providers)) {
    resources.push_back(of_resource.hints);
    listed += of_resource.hints.list.size();
  }
  const place::Scores of_managers{scores.cpu, scores.memory};
  place::MergeRules rules{.policy = policy_, .nodes = numa_.count};
  if (options_.prefer_most_allocated_numa_node) rules.scores = &of_managers;
  if (options_.prefer_closest_numa_nodes) rules.distances = distances_;
  place::HeapArena memory(place::merge_bytes(numa_.count, resources.size(), listed));
  const TopologyHint affinity = place::merge(resources, rules, memory.arena());
  return {affinity, place::admits(policy_, affinity)};
}

}  // namespace pinfold
