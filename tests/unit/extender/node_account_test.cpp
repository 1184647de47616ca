#include "pinfold/cluster/node_account.hpp"

#include <gtest/gtest.h>

#include "cluster_objects.hpp"

namespace pinfold::cluster {
namespace {

using kube::Time;
using std::chrono::milliseconds;
using Amounts = std::vector<ZoneAmount>;

constexpr milliseconds kDelay(100);

PodAccount bound(const std::string& uid, std::optional<Time> at) {
  PodAccount account;
  account.spec = test::pod(uid, {});
  account.node = "n";
  account.bound_at = at;
  return account;
}
PodAccount predicted(const std::string& uid, Time at, Amounts amounts) {
  PodAccount account = bound(uid, at);
  account.predicted = std::move(amounts);
  return account;
}
PodAccount observed(const std::string& uid, std::optional<Time> at, Amounts amounts) {
  PodAccount account = bound(uid, at);
  account.observed = std::move(amounts);
  return account;
}

/// Returns the CPUs available on the two zones of a node that publishes 5 of 8 and 8 of 8, in
/// thousandths: "5000 8000".
std::string available(const std::vector<PodAccount>& pods, Time now) {
  Fleet fleet;
  (void)fleet.add(test::eight_each("n", "5"));
  std::vector<const PodAccount*> all;
  for (const PodAccount& pod : pods) all.push_back(&pod);
  account(fleet, 0, all, now, kDelay);
  const auto row = fleet.available(0, 0);
  return std::to_string(row[0]) + " " + std::to_string(row[1]);
}

const Amounts kThree = {{"node-0", "cpu", 3000}};
const Amounts kTwo = {{"node-1", "cpu", 2000}};

TEST(NodeAccount, WithoutPodsThePublishedAmountsCount) {
  EXPECT_EQ(available({}, Time(0)), "5000 8000");
}

TEST(NodeAccount, ObservedPlacementsNeedNoPublishedAmounts) {
  EXPECT_EQ(available({observed("p", std::nullopt, kTwo)}, Time(0)), "8000 6000");
}

TEST(NodeAccount, APredictionCountsWhileThePodIsYoung) {
  const PodAccount pod = predicted("p", Time(10), kTwo);
  EXPECT_EQ(available({pod}, Time(109)), "5000 6000");
  EXPECT_EQ(available({pod}, Time(110)), "5000 8000");
}

TEST(NodeAccount, OfTwoEstimatesTheSmallerOneCounts) {
  PodAccount elsewhere = predicted("p", Time(10), kTwo);  // the object shows it on node-0
  elsewhere.is_shown = true;
  EXPECT_EQ(available({elsewhere}, Time(20)), "5000 6000");
  EXPECT_EQ(available({elsewhere, observed("q", std::nullopt, kThree)}, Time(20)), "5000 6000");
}

TEST(NodeAccount, ALikelyEstimateKnowsWhatWasFreed) {
  Fleet fleet;
  (void)fleet.add(test::eight_each("n", "5"));
  const PodAccount pod = predicted("p", Time(10), kTwo);
  account(fleet, 0, {&pod}, Time(20), kDelay, Estimate::kLikely);
  EXPECT_EQ(fleet.available(0, 0)[0], 8000);
  EXPECT_EQ(fleet.available(0, 0)[1], 6000);
}

TEST(NodeAccount, OneUnknownPodMakesThePublishedAmountsCount) {
  EXPECT_EQ(available({bound("old", std::nullopt), predicted("p", Time(10), kTwo)}, Time(20)),
            "5000 6000");
  EXPECT_EQ(available({bound("old", std::nullopt), observed("p", std::nullopt, kTwo)}, Time(20)),
            "5000 8000");
}

TEST(NodeAccount, APodThatConsumesNothingIsIgnored) {
  PodAccount idle = bound("idle", std::nullopt);
  idle.consumes = false;
  EXPECT_EQ(available({idle, predicted("p", Time(10), kTwo)}, Time(20)), "5000 6000");
}

TEST(NodeAccount, AShownPodIsNotChargedAgain) {
  PodAccount shown = predicted("p", Time(10), kThree);
  shown.is_shown = true;
  EXPECT_EQ(available({bound("old", std::nullopt), shown}, Time(20)), "5000 8000");
}

TEST(NodeAccount, AZoneThatNoLongerExistsFreesAndTakesNothing) {
  EXPECT_EQ(available({observed("p", std::nullopt, {{"node-7", "cpu", 1000}})}, Time(0)),
            "8000 8000");
}

class MarkShown : public testing::Test {
 protected:
  /// Returns which of the pods the change shows: "pq".
  std::string shown(const NodeTopology& before, const NodeTopology& after) {
    mark_shown(before, after, {&p, &q});
    return std::string(p.is_shown ? "p" : "") + (q.is_shown ? "q" : "");
  }
  PodAccount q = predicted("q", Time(20), kTwo);
  PodAccount p = predicted("p", Time(10), kThree);
};

TEST_F(MarkShown, WhatHasDecreasedEnoughForTheFirstOne) {
  EXPECT_EQ(shown(test::eight_each("n"), test::eight_each("n", "5")), "p");
}
TEST_F(MarkShown, TheZoneMayBeAnotherOne) {
  EXPECT_EQ(shown(test::eight_each("n"), test::eight_each("n", "8", "5")), "p");
}
TEST_F(MarkShown, TheZonesCorrectThePrediction) {
  EXPECT_EQ(shown(test::eight_each("n"), test::eight_each("n", "7", "6")), "p");
  EXPECT_EQ(p.predicted, (Amounts{{"node-0", "cpu", 1000}, {"node-1", "cpu", 2000}}));
}
TEST_F(MarkShown, AmbiguousZonesCorrectNothing) {
  EXPECT_EQ(shown(test::eight_each("n"), test::eight_each("n", "5", "6")), "pq");
  EXPECT_EQ(p.predicted, kThree);
  EXPECT_EQ(q.predicted, kTwo);
}
TEST_F(MarkShown, ALargerDecreaseCorrectsNothing) {
  EXPECT_EQ(shown(test::eight_each("n"), test::eight_each("n", "8", "4")), "p");
  EXPECT_EQ(p.predicted, kThree);
}
TEST_F(MarkShown, BothAtOnce) {
  EXPECT_EQ(shown(test::eight_each("n"), test::eight_each("n", "5", "6")), "pq");
}
TEST_F(MarkShown, TooLittleForTheFirstShowsTheSecond) {
  EXPECT_EQ(shown(test::eight_each("n"), test::eight_each("n", "6")), "q");
}
TEST_F(MarkShown, NothingIfNothingDecreases) {
  EXPECT_EQ(shown(test::eight_each("n", "5"), test::eight_each("n")), "");
}

}  // namespace
}  // namespace pinfold::cluster
