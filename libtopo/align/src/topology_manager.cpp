#include "pinfold/align/topology_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "filter_hints.hpp"
#include "pinfold/place/merge.hpp"
#include "pinfold/text/go_text.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold {
namespace {

constexpr int kKubeletMaxNodes = 8;
// TopologyOptions explains what each option does.
constexpr std::string_view kMaxNodes = kTopologyOptionNames[0];
constexpr std::string_view kClosest = kTopologyOptionNames[1];
constexpr std::string_view kMostAllocated = kTopologyOptionNames[2];
constexpr std::string_view kStrategy = kTopologyOptionNames[3];
constexpr std::string_view kWeights = kTopologyOptionNames[4];
constexpr int kMostWeight = 100;

Result<void> check_available(const std::string& name, const Config& config) {
  const bool is_draft = name == kMostAllocated && config.knows_draft_options;
  if (!is_draft && !knows_topology_option(config.profile, name)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unknown Topology Manager Policy option: {}", go::quote(name)));
  }
  const bool is_stable = name == kClosest || name == kMaxNodes;
  if (is_stable || config.gates().topology_manager_policy_alpha_options) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("topology manager policy alpha-level options not enabled, but option {} "
                          "provided",
                          go::quote(name)));
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

tl::unexpected<Error> bad_value(std::string_view option, const std::string& why) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("bad value for option {}: {}", go::quote(option), why));
}

Result<NumaAllocationStrategy> parse_strategy(const std::string& value) {
  if (value.empty()) return NumaAllocationStrategy::kNone;
  if (const auto strategy = parse_numa_allocation_strategy(value)) return *strategy;
  return bad_value(kStrategy, fmt::format(R"({} must be one of ["least-allocated" )"
                                          R"("most-allocated" "none"])",
                                          go::quote(value)));
}

/// Reads "cpu=3,memory=1".
Result<std::map<std::string, int, std::less<>>> parse_weights(const std::string& value) {
  std::map<std::string, std::int64_t> weights;
  for (std::string_view rest = value; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (entry.empty()) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      return bad_value(kWeights, fmt::format("invalid weight entry {}: expected resource=weight",
                                             go::quote(entry)));
    }
    const std::string resource(trimmed(entry.substr(0, equals)));
    if (resource.empty()) {
      return bad_value(kWeights,
                       fmt::format("empty resource name in weight entry {}", go::quote(entry)));
    }
    const auto weight = go::atoi(std::string(trimmed(entry.substr(equals + 1))));
    if (!weight) {
      return bad_value(kWeights, fmt::format("invalid weight value for {}: {}", go::quote(resource),
                                             weight.error().message));
    }
    weights[resource] = *weight;
  }
  std::map<std::string, int, std::less<>> checked;
  for (const auto& [resource, weight] : weights) {
    if (weight < 0 || weight > kMostWeight) {
      return bad_value(kWeights, fmt::format("weight for {} must be in range [0, {}], got {}",
                                             go::quote(resource), kMostWeight, weight));
    }
    checked[resource] = static_cast<int>(weight);
  }
  return checked;
}

// The kubelet walks a Go map; if there are several errors, we report the first by option name.
Result<TopologyOptions> parse_options(const Config& config) {
  TopologyOptions options;
  // QUIRK: our merge does not grow exponentially, so it needs no limit of 8 nodes.
  options.max_allowable_numa_nodes =
      config.quirks().numa_nodes_limited_to_8 ? kKubeletMaxNodes : NumaMask::kMaxNodes;
  for (const auto& [name, value] : config.topology_manager_policy_options) {
    PINFOLD_TRY(check_available(name, config));
    if (name == kMaxNodes) {
      PINFOLD_LET(options.max_allowable_numa_nodes, parse_max_nodes(value));
    } else if (name == kStrategy) {
      PINFOLD_LET(options.numa_allocation_strategy, parse_strategy(value));
    } else if (name == kWeights) {
      PINFOLD_LET(options.numa_score_weights, parse_weights(value));
    } else {
      const auto on = go::parse_bool(value);
      if (!on) return bad_value(name, on.error().message);
      (name == kClosest ? options.prefer_closest_numa_nodes
                        : options.prefer_most_allocated_numa_node) = *on;
    }
  }
  if (options.prefer_most_allocated_numa_node &&
      options.numa_allocation_strategy != NumaAllocationStrategy::kNone) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("options {} and {} contradict each other: expected one of them",
                            go::quote(kMostAllocated), go::quote(kStrategy)));
  }
  return options;
}

/// Returns how much of each NUMA node is assigned, 0 if nothing is allocatable; empty if the
/// resource is not assigned.
std::vector<int> per_cent(const UsageByResource& usage, std::string_view resource, int nodes) {
  const auto found = usage.find(resource);
  if (found == usage.end()) return {};
  std::vector<int> scores(static_cast<std::size_t>(nodes));
  for (const NumaUsage& of : found->second) {
    if (of.allocatable == 0) continue;
    scores[static_cast<std::size_t>(of.nodes.first())] =
        static_cast<int>(of.assigned * 100 / of.allocatable);
  }
  return scores;
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

bool knows_topology_option(Profile profile, std::string_view name) {
  if (name == kClosest || name == kMaxNodes) return true;
  if (name == kStrategy || name == kWeights) return profile >= Profile::kKubelet138;
  return name == kMostAllocated && profile == Profile::kFixed;
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

std::uint64_t TopologyManager::distance(NumaMask mask) const {
  return place::distance_within(mask, distances_, numa_.count);
}

bool TopologyManager::are_equally_good(NumaMask one, NumaMask other) const {
  if (one.count() != other.count()) return false;
  const bool is_single = policy_ == TopologyPolicy::kSingleNumaNode;
  return is_single || distance(one) == distance(other);
}

MergedHint TopologyManager::merge(std::span<const ResourceHints> providers,
                                  const UsageByResource& usage) const {
  std::vector<place::Hints> resources;
  std::size_t listed = 0;
  for (const auto& [resource, hints] :
       align::filter_hints(providers, usage, options_.numa_score_weights)) {
    resources.push_back(hints);
    listed += hints.list.size();
  }
  place::MergeRules rules{.policy = policy_, .nodes = numa_.count};
  rules.strategy = options_.numa_allocation_strategy;
  std::vector<int> cpu;
  std::vector<int> memory;
  place::Scores of_managers;
  if (options_.prefer_most_allocated_numa_node) {
    cpu = per_cent(usage, "cpu", numa_.count);
    memory = per_cent(usage, "memory", numa_.count);
    of_managers = {cpu, memory};
    rules.scores = &of_managers;
  }
  if (options_.prefer_closest_numa_nodes) rules.distances = distances_;
  place::HeapArena arena(place::merge_bytes(numa_.count, resources.size(), listed));
  const TopologyHint affinity = place::merge(resources, rules, arena.arena());
  return {affinity, place::admits(policy_, affinity)};
}

}  // namespace pinfold
