#include "pinfold/align/explanation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies.hpp"
#include "topology.hpp"

namespace pinfold::test {
namespace {

using testing::ElementsAre;

/// The explanation of a merge on four NUMA nodes.
std::vector<std::string> said(TopologyPolicy policy, const ResourceHints& hints,
                              std::vector<NumaId> ids = {}) {
  const TopologyManager manager =
      TopologyManager::make({.count = 4, .ids = std::move(ids)}, config_of(policy, {})).value();
  const std::vector<ResourceHints> providers = {hints};
  return sentences(manager, explain_merge(manager, providers, manager.merge(providers, {})));
}

const Hints kOneOfTwo = {on(0b01), on(0b10), off(0b11)};

TEST(Explanation, NamesTwoResourcesThatDisagreeUnderSingleNumaNode) {
  EXPECT_THAT(
      said(kSingle, {{"cpu", kOneOfTwo},
                     {"example.com/gpu", Hints{on(0b01), on(0b10), on(0b100)}},
                     {"memory", Hints{on(0b100)}}}),
      ElementsAre(
          "cpu fits on NUMA 0 or 1", "example.com/gpu fits on NUMA 0 or 1 or 2",
          "memory fits on NUMA 2",
          "not aligned: cpu fits on NUMA 0 or 1, memory only on 2: no single NUMA node satisfies "
          "both",
          "NUMA 0 would work if memory fitted there", "NUMA 1 would work if memory fitted there",
          "NUMA 2 would work if cpu fitted there"));
}

TEST(Explanation, NamesAllResourcesThatDisagreeOnlyTogether) {
  const auto explained =
      said(kSingle,
           {{"a", Hints{on(1), on(2)}}, {"b", Hints{on(2), on(4)}}, {"c", Hints{on(1), on(4)}}});
  EXPECT_EQ(explained[3],
            "not aligned: a fits on NUMA 0 or 1, b on 1 or 2, c on 0 or 2: no single NUMA node "
            "satisfies all");
}

TEST(Explanation, NamesTheResourceThatNeedsMoreThanOneNode) {
  EXPECT_THAT(said(kSingle, {{"cpu", kOneOfTwo}, {"memory", Hints{on(0b11)}}}),
              ElementsAre("cpu fits on NUMA 0 or 1", "memory needs at least 2 NUMA nodes (0-1)",
                          "not aligned: memory needs at least 2 NUMA nodes (0-1)",
                          "NUMA 0 would work if memory fitted there",
                          "NUMA 1 would work if memory fitted there"));
}

TEST(Explanation, NamesTheResourceThatFitsNowhere) {
  EXPECT_THAT(said(kRestricted, {{"cpu", Hints{on(0b10)}}, {"memory", Hints{}}}),
              ElementsAre("cpu fits on NUMA 1", "memory fits on no NUMA node",
                          "not aligned: memory fits on no NUMA node",
                          "NUMA 1 would work if memory fitted there"));
}

TEST(Explanation, NamesTheCauseOfAnImpossibleHint) {
  const TopologyManager manager =
      TopologyManager::make({.count = 2}, config_of(kRestricted, {})).value();
  const std::vector<ResourceHints> providers = {{{"cpu", Hints{}}, {"memory", Hints{on(1)}}}};
  const auto explained = explain_merge(manager, providers, manager.merge(providers, {}),
                                       {{"cpu", "nothing is left"}, {"memory", "not impossible"}});
  const std::vector<std::string> texts = sentences(manager, explained);
  EXPECT_EQ(texts[0], "cpu cannot be given: nothing is left");
  EXPECT_EQ(texts[1], "memory fits on NUMA 0");
  EXPECT_EQ(texts[2], "not aligned: cpu cannot be given: nothing is left");
}

TEST(Explanation, NamesTheResourceThatIsNotPreferredUnderRestricted) {
  EXPECT_EQ(said(kRestricted, {{"cpu", kOneOfTwo}, {"memory", Hints{off(0b11), off(0b111)}}})[2],
            "not aligned: memory fits at best on NUMA 0-1, which is not preferred");
}

TEST(Explanation, NamesTheAffinityOfAnUnalignedPodUnderBestEffort) {
  EXPECT_EQ(said(kBestEffort, {{"cpu", kOneOfTwo}, {"gpu", Hints{on(0b11)}}})[2],
            "not aligned: cpu fits on NUMA 0 or 1, gpu only on 0-1: no set of NUMA nodes satisfies "
            "both; best-effort takes NUMA 0-1");
}

TEST(Explanation, NamesTheDecidingRule) {
  EXPECT_EQ(said(kRestricted, {{"cpu", kOneOfTwo}, {"gpu", Hints{on(0b10)}}})[2],
            "aligned on NUMA 1, the only choice for gpu");
  EXPECT_EQ(said(kRestricted, {{"cpu", kOneOfTwo}})[1],
            "aligned on NUMA 0, the best of 2 choices that suit every resource");
  EXPECT_EQ(said(kRestricted, {{"cpu", kOneOfTwo}, {"gpu", Hints{on(0b10), on(0b100)}}})[2],
            "aligned on NUMA 1, the only choice that suits every resource");
  EXPECT_THAT(said(kRestricted, {{"cpu", std::nullopt}}),
              ElementsAre("cpu may come from any NUMA node", "no resource needs a NUMA node"));
  EXPECT_THAT(said(TopologyPolicy::kNone, {}), ElementsAre("policy none: nothing is aligned"));
}

TEST(Explanation, NamesNodesByTheirIds) {
  EXPECT_THAT(
      said(kSingle, {{"cpu", Hints{on(0b10)}}}, {NumaId{0}, NumaId{8}, NumaId{252}, NumaId{253}}),
      ElementsAre("cpu fits on NUMA 8", "aligned on NUMA 8, the only choice for cpu"));
}

TEST(Explanation, TruncatesLongLists) {
  Hints hints;
  for_each_mask(4, [&](NumaMask mask) { hints.push_back({mask, mask.count() == 2}); });
  EXPECT_EQ(said(kRestricted, {{"cpu", hints}})[0],
            "cpu fits on NUMA 0-1 or 0,2 or 0,3 or 1-2 or 2 more");
}

TEST(Explanation, IsDataFirst) {
  const TopologyManager manager =
      TopologyManager::make({.count = 2}, config_of(kSingle, {})).value();
  const std::vector<ResourceHints> providers = {
      {}, {{"cpu", kOneOfTwo}}, {{"memory", Hints{off(0b11)}}}};
  const MergedHint merged = manager.merge(providers, {});
  const MergeExplanation explained = explain_merge(manager, providers, merged);
  EXPECT_EQ(explained.result, merged);
  EXPECT_THAT(explained.responsible, ElementsAre("memory"));
  EXPECT_THAT(explained.hints,
              ElementsAre(HintSummary{"cpu", HintSummary::Kind::kFit, {NumaMask(1), NumaMask(2)}},
                          HintSummary{"memory", HintSummary::Kind::kUnfit, {NumaMask(3)}}));
  EXPECT_THAT(explained.changes, ElementsAre(AlignmentChange{NumaMask(1), {"memory"}},
                                             AlignmentChange{NumaMask(2), {"memory"}}));
}

}  // namespace
}  // namespace pinfold::test
