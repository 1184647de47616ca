#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "topology.hpp"

namespace pinfold::test {
namespace {

/// Uniform from the first case on; RapidCheck alone would begin with small values.
template <class T>
T draw(T low, T below) {
  return *rc::gen::resize(100, rc::gen::inRange<T>(low, below));
}
bool toss() { return draw(0, 2) == 1; }

std::uint64_t any_mask(int nodes) {
  return draw(std::uint64_t{1}, NumaMask::all(nodes).bits() + 1);
}

/// The masks of a list of about `most` hints: arbitrary ones, or all supersets of a few.
std::vector<NumaMask> any_masks(int nodes, int most) {
  std::vector<NumaMask> masks;
  if (toss()) {
    const int count = draw(1, most + 1);
    for (int i = 0; i < count; ++i) masks.emplace_back(any_mask(nodes));
    return masks;
  }
  std::vector<NumaMask> least;
  for (int i = draw(1, 4); i > 0; --i) least.emplace_back(any_mask(nodes));
  for_each_mask(nodes, [&](NumaMask mask) {
    const bool holds = std::any_of(least.begin(), least.end(),
                                   [&](NumaMask inner) { return mask.contains_all(inner); });
    if (holds && static_cast<int>(masks.size()) < most) masks.push_back(mask);
  });
  return masks;
}

/// One list as a provider could return it: in order, each mask once.
HintList any_list(int nodes, int most) {
  const int kind = draw(0, 16);
  if (kind == 0) return std::nullopt;
  if (kind == 1) return Hints{};
  const int preferred_width = draw(0, nodes + 1);
  const bool by_width = draw(0, 4) != 0;
  Hints hints;
  for (const NumaMask mask : any_masks(nodes, most)) {
    hints.push_back({mask, by_width ? mask.count() == preferred_width : toss()});
  }
  std::sort(hints.begin(), hints.end(), hint_order);
  hints.erase(std::unique(hints.begin(), hints.end(),
                          [](const auto& a, const auto& b) { return a.numa == b.numa; }),
              hints.end());
  // A custom hint provider may also add "any NUMA node".
  if (kind == 2) hints.insert(hints.begin(), {std::nullopt, toss()});
  return hints;
}

/// The usage of each NUMA node and, sometimes, of a resource near two of them, like a device.
std::vector<NumaUsage> any_usage(int nodes, bool is_device) {
  std::vector<NumaUsage> usage;
  for (int node = 0; node < nodes; ++node) {
    usage.push_back({NumaMask::of(node), draw(std::uint64_t{0}, std::uint64_t{4}), 4});
  }
  if (is_device && nodes > 1 && toss())
    usage.push_back({NumaMask(0b11), draw(std::uint64_t{0}, std::uint64_t{2}), 2});
  return usage;
}

/// "cpu", "memory" and those of any_providers().
std::vector<std::string> any_resources() {
  std::vector<std::string> resources = {"cpu", "memory"};
  for (int i = 0; i < 7; ++i) resources.push_back("example.com/r" + std::to_string(i));
  return resources;
}

NaiveRules any_rules(int nodes) {
  NaiveRules rules;
  rules.nodes = nodes;
  rules.policy = *rc::gen::element(TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                                   TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode);
  rules.options.prefer_closest_numa_nodes = toss();
  rules.options.prefer_most_allocated_numa_node = toss();
  const auto n = static_cast<std::size_t>(nodes);
  // Few distinct values, for ties; not symmetric, because distances need not be.
  rules.distances.resize(n, std::vector<std::uint32_t>(n));
  for (auto& row : rules.distances) {
    for (auto& distance : row) distance = draw(10U, 14U);
  }
  if (!rules.options.prefer_most_allocated_numa_node) {
    rules.options.numa_allocation_strategy =
        *rc::gen::element(NumaAllocationStrategy::kNone, NumaAllocationStrategy::kMostAllocated,
                          NumaAllocationStrategy::kLeastAllocated);
  }
  // A resource has usage or none at all, like one of a hint provider that does not report it.
  for (const std::string& resource : any_resources()) {
    if (toss()) rules.options.numa_score_weights[resource] = draw(0, 4);
    if (toss()) rules.usage[resource] = any_usage(nodes, resource.find('/') != std::string::npos);
  }
  return rules;
}

/// Up to seven resources over up to three providers; the more resources, the shorter their lists.
std::vector<ResourceHints> any_providers(int nodes) {
  static constexpr std::array<int, 8> kMost = {0, 255, 255, 40, 14, 8, 5, 4};
  const int resources = draw(0, 8);
  const int most = kMost[static_cast<std::size_t>(resources)];
  std::vector<ResourceHints> providers(3);
  for (int i = 0; i < resources; ++i) {
    providers[draw(std::size_t{0}, std::size_t{3})]["example.com/r" + std::to_string(i)] =
        any_list(nodes, most);
  }
  return providers;
}

void same_as_naive(NaiveRules rules, const std::vector<ResourceHints>& providers) {
  for (const ResourceHints& provider : providers) {
    for (const auto& [resource, hints] : provider) {
      // No provider with usage lists "any NUMA node" next to other hints.
      if (hints && !hints->empty() && !hints->front().numa) rules.usage.erase(resource);
    }
  }
  const MergedHint fast = manager_of(rules).merge(providers, rules.usage);
  const MergedHint naive = NaiveMerge(rules)(providers);
  RC_LOG() << rules.nodes << " nodes, " << to_string(rules.policy) << " " << describe(providers)
           << "\nfast " << fast << ", naive " << naive << "\n";
  const bool is_compared =
      fast.admit || rules.options.numa_allocation_strategy == NumaAllocationStrategy::kNone;
  RC_ASSERT(fast.admit == naive.admit);
  if (is_compared) RC_ASSERT(fast.best == naive.best);
}

RC_GTEST_PROP(MergeProperty, EqualsTheEnumerationOnUpToEightNodes, ()) {
  const int nodes = draw(1, 9);
  same_as_naive(any_rules(nodes), any_providers(nodes));
}

// The lists of the kubelet's managers on a machine with many NUMA nodes, shortened for the
// enumeration.
RC_GTEST_PROP(MergeProperty, EqualsTheEnumerationOnTheHintMasksOfLargeMachines, ()) {
  const int nodes = draw(17, 65);
  NaiveRules rules = any_rules(nodes);
  rules.usage = {};
  std::vector<ResourceHints> providers(1);
  const int resources = draw(1, 6);
  const int room = draw(4, nodes + 1);  // few NUMA nodes, so that the masks intersect
  for (int i = 0; i < resources; ++i) {
    Hints hints;
    const int count = draw(1, resources > 3 ? 8 : 30);
    for (int k = 0; k < count; ++k) {
      const int width = draw(1, std::min(room, 9) + 1);
      const int first = draw(0, room - width + 1);
      NumaMask mask(NumaMask::all(width).bits() << static_cast<unsigned>(first));
      if (width <= 3) {
        const auto node = [&] { return NumaMask::of(draw(0, room)); };
        mask = NumaMask();
        for (int n = 0; n < 3; ++n) mask = mask | node();
      }
      hints.push_back({mask, draw(0, 4) == 0});
    }
    std::sort(hints.begin(), hints.end(), hint_order);
    providers[0]["r" + std::to_string(i)] = hints;
  }
  same_as_naive(rules, providers);
}

// It only chooses between masks that are otherwise equally good.
RC_GTEST_PROP(MergeProperty, AnAllocationStrategyChangesNoVerdictAndNoWidth, ()) {
  const int nodes = draw(1, 9);
  NaiveRules rules = any_rules(nodes);
  rules.options.prefer_most_allocated_numa_node = false;
  const auto providers = any_providers(nodes);
  const auto merged = [&](NumaAllocationStrategy strategy) {
    rules.options.numa_allocation_strategy = strategy;
    return manager_of(rules).merge(providers, rules.usage);
  };
  const MergedHint plain = merged(NumaAllocationStrategy::kNone);
  for (const auto strategy :
       {NumaAllocationStrategy::kMostAllocated, NumaAllocationStrategy::kLeastAllocated}) {
    const MergedHint chosen = merged(strategy);
    RC_ASSERT(chosen.admit == plain.admit);
    RC_ASSERT(chosen.best.preferred == plain.best.preferred);
    RC_ASSERT(chosen.best.numa.has_value() == plain.best.numa.has_value());
    if (plain.best.numa) RC_ASSERT(chosen.best.numa->count() == plain.best.numa->count());
  }
}

RC_GTEST_PROP(MergeProperty, AStricterPolicyAdmitsNoMore, ()) {
  const int nodes = draw(1, 9);
  NaiveRules rules = any_rules(nodes);
  rules.options = {};
  const auto providers = any_providers(nodes);
  const auto admits = [&](TopologyPolicy policy) {
    rules.policy = policy;
    return manager_of(rules).merge(providers, {}).admit;
  };
  if (admits(TopologyPolicy::kSingleNumaNode)) RC_ASSERT(admits(TopologyPolicy::kRestricted));
  RC_ASSERT(admits(TopologyPolicy::kBestEffort));
  RC_ASSERT(admits(TopologyPolicy::kNone));
}

// In every iteration order of a Go map: without the draft option the result is the same.
RC_GTEST_PROP(MergeProperty, OrderOfProvidersDoesNotMatter, ()) {
  const int nodes = draw(1, 9);
  NaiveRules rules = any_rules(nodes);
  rules.options.prefer_most_allocated_numa_node = false;
  auto providers = any_providers(nodes);
  const TopologyManager manager = manager_of(rules);
  const MergedHint merged = manager.merge(providers, {});
  std::reverse(providers.begin(), providers.end());
  RC_ASSERT(manager.merge(providers, {}) == merged);
}

}  // namespace
}  // namespace pinfold::test
