// The fast merge against the kubelet's enumeration of every combination, over every input that is
// small enough to enumerate. The cases:
//
//   - which of two merged hints is kept, for every pair of masks of up to 6 nodes: the choice
//     follows one total order, so the result depends only on the set of merged hints;
//   - 2 nodes: every set of hints with every choice of preferred ones, for three resources;
//   - 3 nodes: every set of masks with every preferred width, for two resources;
//   - 4 nodes: for two resources every upward-closed set of masks (what fits on some nodes also
//     fits on more) with every preferred width, and for three resources a fixed sample of them;
//   - 5 nodes: every upward-closed set against one of each shape (up to renaming the nodes).
//
// A build without optimisation uses only every 61st set as the second one of 4 or 5 nodes.
// tests/property has random sets of any shape on up to 8 nodes.
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <tuple>

#include "topology.hpp"

namespace pinfold::test {
namespace {

#ifdef NDEBUG
constexpr std::size_t kStep = 1;
#else
constexpr std::size_t kStep = 61;
#endif

/// A set of masks of at most 5 nodes: bit m is set if it contains the mask with the value m.
using Family = std::uint32_t;

constexpr bool has(Family family, std::uint64_t mask) { return ((family >> mask) & 1U) != 0; }

std::vector<NumaMask> masks_of(int nodes) {
  std::vector<NumaMask> masks;
  for_each_mask(nodes, [&](NumaMask mask) { masks.push_back(mask); });
  return masks;
}

/// The family as an ordered list of hints; those of `preferred_width` are preferred.
HintList hints_of(Family family, int nodes, int preferred_width) {
  Hints hints;
  for_each_mask(nodes, [&](NumaMask mask) {
    if (has(family, mask.bits())) hints.push_back({mask, mask.count() == preferred_width});
  });
  return hints;
}

/// Every family that contains all supersets of its masks, including the empty family.
std::vector<Family> upward_closed(int nodes) {
  std::set<Family> families = {0};
  for (const NumaMask mask : masks_of(nodes)) {
    Family above = 0;
    for (const NumaMask other : masks_of(nodes)) {
      if (other.contains_all(mask)) above |= Family{1} << other.bits();
    }
    std::set<Family> grown;
    for (const Family family : families) grown.insert(family | above);
    families.merge(grown);
  }
  return {families.begin(), families.end()};
}

/// One representative, the least, of each class of families that are equal up to renaming nodes.
std::vector<Family> shapes(const std::vector<Family>& families, int nodes) {
  std::vector<Family> least;
  for (const Family family : families) {
    std::vector<int> names(static_cast<std::size_t>(nodes));
    std::iota(names.begin(), names.end(), 0);
    bool smaller_exists = false;
    do {
      Family renamed = 0;
      for (const NumaMask mask : masks_of(nodes)) {
        if (!has(family, mask.bits())) continue;
        std::uint64_t bits = 0;
        for (const int node : mask.positions()) {
          bits |= std::uint64_t{1} << names[static_cast<std::size_t>(node)];
        }
        renamed |= Family{1} << bits;
      }
      smaller_exists = renamed < family;
    } while (!smaller_exists && std::next_permutation(names.begin(), names.end()));
    if (!smaller_exists) least.push_back(family);
  }
  return least;
}

/// Rules for every policy and option that affects the merge of two resources.
std::vector<NaiveRules> all_rules(int nodes) {
  std::vector<NaiveRules> all;
  for (const auto policy : {TopologyPolicy::kBestEffort, TopologyPolicy::kRestricted,
                            TopologyPolicy::kSingleNumaNode}) {
    for (const bool closest : {false, true}) {
      NaiveRules rules;
      rules.policy = policy;
      rules.nodes = nodes;
      rules.options.prefer_closest_numa_nodes = closest;
      rules.distances = flat_distances(nodes);
      // Some pairs are close and the others distant, so that distances outweigh the lower mask.
      for (std::size_t i = 0; i < rules.distances.size(); ++i) {
        for (std::size_t j = 0; j < rules.distances.size(); ++j) {
          if (i != j)
            rules.distances[i][j] = static_cast<std::uint32_t>((i + j) % 3 == 0 ? 12 : 21);
        }
      }
      all.push_back(rules);
    }
  }
  NaiveRules busiest = all.back();
  busiest.options.prefer_closest_numa_nodes = false;
  busiest.options.prefer_most_allocated_numa_node = true;
  busiest.usage = {{"cpu", usage_of({10, 20, 0, 20, 40})},
                   {"memory", usage_of({30, 10, 30, 0, 5})}};
  for (auto& [resource, usage] : busiest.usage) usage.resize(static_cast<std::size_t>(nodes));
  all.push_back(busiest);
  return all;
}

/// Compares both merges for every pair of lists; stops at the first difference.
void expect_same_for_pairs(const NaiveRules& rules, const std::vector<HintList>& first,
                           const std::vector<HintList>& second) {
  const TopologyManager manager = manager_of(rules);
  NaiveMerge naive(rules);
  std::vector<ResourceHints> providers(2);
  const std::size_t step = rules.nodes > 3 ? kStep : 1;
  for (std::size_t i = 0; i < first.size(); ++i) {
    providers[0] = {{"cpu", first[i]}};
    for (std::size_t j = i % step; j < second.size(); j += step) {
      providers[1] = {{"memory", second[j]}};
      const MergedHint expected = naive(providers);
      ASSERT_EQ(manager.merge(providers, rules.usage), expected)
          << to_string(rules.policy) << " " << describe(providers);
    }
  }
}

TEST(MergeExhaustive, KubeletKeepsTheSmallerByOneTotalOrder) {
  for (const bool closest : {false, true}) {
    for (int nodes = 1; nodes <= 6; ++nodes) {
      NaiveRules rules;
      rules.nodes = nodes;
      rules.options.prefer_closest_numa_nodes = closest;
      rules.distances = flat_distances(nodes);
      if (nodes > 3) rules.distances[0][3] = rules.distances[3][0] = 11;
      const NaiveMerge naive(rules);
      for (int wanted = 0; wanted <= nodes; ++wanted) {
        const auto key = [&](NaiveMerge::Merged hint) {
          const int width = hint.mask.count();
          int rank = width;
          if (!hint.preferred && width <= wanted) rank = -width;
          std::uint64_t distance = 0;
          for (const int a : hint.mask.positions()) {
            for (const int b : hint.mask.positions()) {
              distance += rules.distances[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
            }
          }
          return std::tuple(hint.preferred ? 0 : 1, rank, closest ? distance : 0, hint.mask.bits());
        };
        for (const NumaMask a : masks_of(nodes)) {
          for (const NumaMask b : masks_of(nodes)) {
            for (int flags = 0; flags < 4; ++flags) {
              const NaiveMerge::Merged current{a, (flags & 1) != 0};
              const NaiveMerge::Merged candidate{b, (flags & 2) != 0};
              ASSERT_EQ(naive.replaces(current, candidate, wanted), key(candidate) < key(current))
                  << a << " " << b << " flags " << flags << " wanted width " << wanted;
            }
          }
        }
      }
    }
  }
}

TEST(MergeExhaustive, EveryListOnTwoNodesForThreeResources) {
  std::vector<HintList> lists = {std::nullopt};
  for (int code = 0; code < 27; ++code) {  // each mask: absent, not preferred, preferred
    Hints hints;
    int rest = code;
    for (const std::uint64_t bits : {1U, 2U, 3U}) {
      if (rest % 3 != 0) hints.push_back({NumaMask(bits), rest % 3 == 2});
      rest /= 3;
    }
    lists.emplace_back(hints);
  }
  for (const NaiveRules& rules : all_rules(2)) {
    const TopologyManager manager = manager_of(rules);
    NaiveMerge naive(rules);
    std::vector<ResourceHints> providers(2);
    for (const HintList& a : lists) {
      for (const HintList& b : lists) {
        for (const HintList& c : lists) {
          providers = {{{"gpu", a}, {"nic", b}}, {{"cpu", c}}};
          ASSERT_EQ(manager.merge(providers, rules.usage), naive(providers))
              << to_string(rules.policy) << " " << describe(providers);
        }
      }
    }
  }
}

TEST(MergeExhaustive, EveryMaskSetOnThreeNodesForTwoResources) {
  std::vector<HintList> lists = {std::nullopt};
  for (Family family = 0; family < 256; family += 2) {
    for (int width = 0; width <= 3; ++width) {
      const HintList hints = hints_of(family, 3, width);
      if (std::find(lists.begin(), lists.end(), hints) == lists.end()) lists.push_back(hints);
    }
  }
  for (const NaiveRules& rules : all_rules(3)) expect_same_for_pairs(rules, lists, lists);
}

TEST(MergeExhaustive, EveryUpwardClosedSetOnFourNodesForTwoResources) {
  std::vector<HintList> lists;
  for (const Family family : upward_closed(4)) {
    for (int width = 0; width <= 4; ++width) {
      const HintList hints = hints_of(family, 4, width);
      if (std::find(lists.begin(), lists.end(), hints) == lists.end()) lists.push_back(hints);
    }
  }
  for (const NaiveRules& rules : all_rules(4)) expect_same_for_pairs(rules, lists, lists);
}

TEST(MergeExhaustive, UpwardClosedSetsOnFourNodesForThreeResources) {
  const std::vector<Family> families = upward_closed(4);
  for (const NaiveRules& rules : all_rules(4)) {
    const TopologyManager manager = manager_of(rules);
    NaiveMerge naive(rules);
    for (std::size_t a = 0; a < families.size(); a += 5) {
      for (std::size_t b = a; b < families.size(); b += 7) {
        for (std::size_t c = b; c < families.size(); c += 11) {
          const std::vector<ResourceHints> providers = {{{"gpu", hints_of(families[a], 4, 2)}},
                                                        {{"cpu", hints_of(families[b], 4, 1)}},
                                                        {{"memory", hints_of(families[c], 4, 2)}}};
          ASSERT_EQ(manager.merge(providers, rules.usage), naive(providers))
              << to_string(rules.policy) << " " << describe(providers);
        }
      }
    }
  }
}

TEST(MergeExhaustive, UpwardClosedSetsOnFiveNodesForTwoResources) {
  const std::vector<Family> families = upward_closed(5);
  EXPECT_EQ(families.size(), 7580U);  // Dedekind number of 5, without the set with the empty mask
  const std::vector<Family> one_of_each = shapes(families, 5);
  std::vector<HintList> every;
  std::vector<HintList> shaped;
  for (std::size_t i = 0; i < families.size(); ++i) {
    every.push_back(hints_of(families[i], 5, static_cast<int>(i % 3)));
  }
  for (std::size_t i = 0; i < one_of_each.size(); ++i) {
    shaped.push_back(hints_of(one_of_each[i], 5, static_cast<int>(i % 4)));
  }
  for (const NaiveRules& rules : all_rules(5)) expect_same_for_pairs(rules, shaped, every);
}

}  // namespace
}  // namespace pinfold::test
