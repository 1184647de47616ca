#include "pinfold/cluster/cluster_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_objects.hpp"

namespace pinfold::cluster {
namespace {

using kube::Time;
using test::eight_each;
using test::observed;
using test::watched;
using testing::ElementsAre;
using testing::IsEmpty;

class ClusterViewTest : public testing::Test {
 protected:
  /// Returns the CPUs that are available on the zones of a node, in thousandths: "5000 8000".
  std::string available(const std::string& node, Time now) {
    Fleet& fleet = view.fleet(now);
    const auto row = fleet.available(view.number_of(node).value(), 0);
    std::string out;
    for (const std::int64_t amount : row) out += std::to_string(amount) + " ";
    out.pop_back();
    return out;
  }
  /// Puts a pod in flight to a node, on whose first zone it needs `milli_cpu`.
  void fly(const std::string& uid, const std::string& node, std::int64_t milli_cpu) {
    Fleet& fleet = view.fleet(Time(0));
    const Placement placement{{{0, *fleet.resource_id("cpu"), milli_cpu}}};
    view.in_flight().set(fleet, PodUid(uid), {{view.number_of(node).value(), placement}}, 1,
                         Time(30'000));
  }
  void list_pods(const std::vector<kube::WatchedPod>& pods) {
    view.begin_pods();
    for (const auto& pod : pods) view.set_pod(pod, Time(0));
    view.end_pods();
  }

  ClusterView view{{{}, std::chrono::seconds(15), std::chrono::seconds(30)}};
};

TEST_F(ClusterViewTest, APodThatIsSeenBeingBoundIsChargedWhereItIsPredicted) {
  view.set_topology(eight_each("a", "5"));
  view.set_pod(watched("p", "6"), Time(1));
  view.set_pod(watched("p", "6", "a"), Time(2));
  EXPECT_EQ(view.find_pod(PodUid("p"))->predicted,
            (std::vector<ZoneAmount>{{"node-1", "cpu", 6000}}));
  EXPECT_EQ(available("a", Time(3)), "5000 2000");
}

TEST_F(ClusterViewTest, APodThatHasGoneIsNotMistakenForALaterOne) {
  view.set_topology(eight_each("a"));
  view.set_pod(watched("gone", "5", "a"), Time(1));
  view.remove_pod(PodUid("gone"));
  view.set_pod(watched("later", "5", "a"), Time(2));
  view.set_topology(eight_each("a", "3"));  // published for 'gone'
  view.set_topology(eight_each("a"));       // published after its end
  EXPECT_EQ(available("a", Time(3)), "3000 8000");
  view.set_topology(eight_each("a", "3"));  // published for 'later'
  EXPECT_EQ(available("a", Time(20'000)), "3000 8000");
}

TEST_F(ClusterViewTest, AnObservedPlacementReplacesThePrediction) {
  view.set_topology(eight_each("a"));
  view.set_pod(watched("p", "6", "a"), Time(2));
  view.set_pod(observed(watched("p", "6", "a"), {{"node-1", "cpu", 6000}}), Time(3));
  EXPECT_EQ(available("a", Time(4)), "8000 2000");
  EXPECT_EQ(available("a", Time(100'000)), "8000 2000");
}

TEST_F(ClusterViewTest, ThePlaceOfAListedPodIsNotGuessed) {
  view.set_topology(eight_each("a", "2"));
  list_pods({watched("p", "6", "a")});
  EXPECT_EQ(view.find_pod(PodUid("p"))->predicted, std::nullopt);
  EXPECT_EQ(available("a", Time(1)), "2000 8000");
}

TEST_F(ClusterViewTest, PublishedAmountsCountOnceThePodIsOld) {
  view.set_topology(eight_each("a", "2"));
  list_pods({watched("old", "6", "a")});
  view.set_pod(watched("p", "3", "a"), Time(1'000));
  EXPECT_EQ(available("a", Time(2'000)), "2000 5000");
  EXPECT_EQ(available("a", Time(16'000)), "2000 8000");
}

TEST_F(ClusterViewTest, ATopologyThatShowsThePodEndsItsCharge) {
  view.set_topology(eight_each("a", "2"));
  list_pods({watched("old", "6", "a")});
  view.set_pod(watched("p", "3", "a"), Time(1'000));
  view.set_topology(eight_each("a", "2", "5"));
  EXPECT_EQ(available("a", Time(2'000)), "2000 5000");
}

TEST_F(ClusterViewTest, ARemovedOrEndedPodFreesItsPlace) {
  view.set_topology(eight_each("a"));
  view.set_pod(watched("p", "3", "a"), Time(1));
  view.set_pod(watched("q", "3", "a"), Time(1));
  EXPECT_EQ(available("a", Time(2)), "2000 8000");
  view.remove_pod(PodUid("p"));
  EXPECT_EQ(available("a", Time(2)), "5000 8000");
  auto ended = watched("q", "3", "a");
  ended.has_ended = true;
  view.set_pod(ended, Time(3));
  EXPECT_EQ(available("a", Time(3)), "8000 8000");
  EXPECT_EQ(view.counts().pods, 0U);
}

TEST_F(ClusterViewTest, ATopologyMayComeAfterThePodsOfItsNode) {
  view.set_pod(observed(watched("p", "3", "a"), {{"node-0", "cpu", 3000}}), Time(1));
  EXPECT_EQ(view.number_of("a"), std::nullopt);
  view.set_topology(eight_each("a"));
  EXPECT_EQ(available("a", Time(2)), "5000 8000");
}

TEST_F(ClusterViewTest, ANodeThatGoesAndComesStartsWithItsNewTopology) {
  view.set_topology(eight_each("a"));
  view.set_pod(watched("p", "3", "a"), Time(1));
  view.remove_topology("a");
  EXPECT_EQ(view.number_of("a"), std::nullopt);
  view.remove_pod(PodUid("p"));
  view.set_topology(test::zones_of("a", "restricted", "pod", {{"cpu", {"4", "4", "4"}}}));
  EXPECT_EQ(available("a", Time(2)), "4000 4000 4000");
  EXPECT_EQ(view.counts().topologies, 1U);
}

TEST_F(ClusterViewTest, ATopologyThatIsOlderThanItsNodeIsOfAnotherMachine) {
  view.set_topology(eight_each("a"), "2026-01-31T12:00:00Z");
  view.set_node("a", "2026-01-31T12:00:01Z");
  EXPECT_EQ(view.number_of("a"), std::nullopt);
  view.set_topology(eight_each("a"), "2026-01-31T12:00:02Z");
  EXPECT_EQ(view.number_of("a"), 0U);
  view.remove_node("a");
  EXPECT_EQ(view.number_of("a"), 0U);
}

TEST_F(ClusterViewTest, AnUnreadTopologyIsNamedAndReplacesTheOldOne) {
  view.set_topology(eight_each("a"));
  view.set_unread({"a", "zones: 5: expected a list"});
  EXPECT_EQ(view.number_of("a"), std::nullopt);
  EXPECT_THAT(view.take_warnings(),
              ElementsAre("node 'a': nothing is predicted: zones: 5: expected a list"));
  EXPECT_THAT(view.take_warnings(), IsEmpty());
  EXPECT_EQ(view.counts().unread, 1U);
  view.set_topology(eight_each("a"));
  EXPECT_EQ(view.counts().unread, 0U);
}

TEST_F(ClusterViewTest, ABoundPodIsNoLongerInFlight) {
  view.set_topology(eight_each("a"));
  fly("p", "a", 5000);
  EXPECT_EQ(available("a", Time(1)), "3000 8000");
  view.set_pod(watched("p", "3", "a"), Time(1));
  EXPECT_EQ(view.counts().in_flight, 0U);
  EXPECT_EQ(available("a", Time(2)), "5000 8000");
}

TEST_F(ClusterViewTest, PodsInFlightStayChargedWhenANodeChanges) {
  view.set_topology(eight_each("a"));
  fly("p", "a", 6000);
  view.set_topology(eight_each("a", "7"));
  EXPECT_EQ(available("a", Time(1)), "1000 8000");
  view.set_pod(watched("q", "2", "a"), Time(1));  // predicted without p
  EXPECT_EQ(view.find_pod(PodUid("q"))->predicted,
            (std::vector<ZoneAmount>{{"node-0", "cpu", 2000}}));
  view.remove_pod(PodUid("p"));
  view.remove_pod(PodUid("q"));
  EXPECT_EQ(available("a", Time(1)), "7000 8000");
}

TEST_F(ClusterViewTest, PodsInFlightDoNotOutliveTheZonesOfTheirNode) {
  for (const bool is_dropped : {true, false}) {
    view.set_topology(eight_each("a"));
    fly("p", "a", 3000);
    if (is_dropped) view.remove_topology("a");
    view.set_topology(test::zones_of("a", "restricted", "pod", {{"cpu", {"4"}}}));
    view.remove_pod(PodUid("p"));
    EXPECT_EQ(available("a", Time(1)), "4000");
  }
}

TEST_F(ClusterViewTest, WhatPodsLeaveBehindIsDroppedWithoutRequests) {
  view.set_topology(eight_each("a"));
  fly("other", "a", 1000);
  (void)view.fleet(Time(0));
  for (int i = 0; i < 1'000; ++i) {
    const std::string uid = "p" + std::to_string(i);
    view.set_pod(watched(uid, "3", "a"), Time(1'000 * i));
    view.remove_pod(PodUid(uid));
    EXPECT_LE(view.counts().departed, 16U);
  }
}

TEST_F(ClusterViewTest, ManyNodesThatComeAndGoDoNotGrowTheFleet) {
  view.set_topology(eight_each("stays", "3"));
  std::size_t most = 0;
  for (int i = 0; i < 5'000; ++i) {
    const std::string name = "n" + std::to_string(i);
    view.set_topology(eight_each(name));
    view.remove_topology(name);
    (void)view.fleet(Time(i));
    most = std::max(most, view.counts().bytes);
  }
  EXPECT_EQ(available("stays", Time(6'000)), "3000 8000");
  EXPECT_LT(most, 1'000'000U);
}

}  // namespace
}  // namespace pinfold::cluster
