#include "pinfold/scheduling/answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_objects.hpp"
#include "simulated_cluster.hpp"

namespace pinfold::scheduling {
namespace {

using cluster::ClusterView;
using kube::Time;
using test::eight_each;
using test::observed;
using test::watched;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

ExtenderArgs args_for(const PodSpec& pod, std::vector<std::string> nodes) {
  return {pod, std::move(nodes), {}, ""};
}

class AnswersTest : public testing::Test {
 protected:
  FilterResult ask(const std::string& uid, const char* cpus, std::vector<std::string> nodes) {
    return filter(view, args_for(watched(uid, cpus).spec, std::move(nodes)), now);
  }
  void bind(const std::string& uid, const char* cpus, const std::string& node) {
    view.set_pod(watched(uid, cpus, node), now);
  }

  ClusterView view{{{}, std::chrono::seconds(15), std::chrono::seconds(30)}};
  Time now{1'000};
};

TEST_F(AnswersTest, NodesWithoutTopologyPass) {
  view.set_topology(eight_each("a", "2", "3"));
  view.set_unread({"broken", "zones"});
  const FilterResult result = ask("p", "4", {"unknown", "a", "broken"});
  EXPECT_THAT(result.passed, ElementsAre(0, 2));
  EXPECT_THAT(
      result.failed,
      ElementsAre(Pair("a", "no NUMA node has cpu 4 free (nearest: a: node-1 lacks cpu 1)")));
}

TEST_F(AnswersTest, OnlyTheNearestNodeIsNamed) {
  view.set_topology(eight_each("a", "1", "4"));
  view.set_topology(eight_each("b", "3", "3"));
  const FilterResult result = ask("p", "5", {"a", "b"});
  EXPECT_THAT(result.failed,
              ElementsAre(Pair("a", "no NUMA node has cpu 5 free (nearest: a: node-1 lacks cpu 1)"),
                          Pair("b", "no NUMA node has cpu 5 free")));
}

TEST_F(AnswersTest, PodsInFlightAreChargedUntilTheyAreBound) {
  view.set_topology(eight_each("a"));
  EXPECT_THAT(ask("p", "6", {"a"}).passed, ElementsAre(0));
  EXPECT_THAT(ask("q", "6", {"a"}).passed, ElementsAre(0));
  const FilterResult third = ask("r", "6", {"a"});
  EXPECT_THAT(third.passed, IsEmpty());
  EXPECT_FALSE(third.is_undecided);
  EXPECT_THAT(
      third.failed,
      ElementsAre(Pair(
          "a",
          "all NUMA nodes together have less than cpu 6 free (nearest: a: it has cpu 4 of 6)")));
  bind("p", "6", "a");
  bind("q", "6", "a");
  const FilterResult again = ask("r", "6", {"a"});
  EXPECT_FALSE(again.is_undecided);
  EXPECT_THAT(
      again.failed,
      ElementsAre(Pair(
          "a",
          "all NUMA nodes together have less than cpu 6 free (nearest: a: it has cpu 4 of 6)")));
}

TEST_F(AnswersTest, NodesThatOthersMayTakeAreAvoidedWhileThereAreMore) {
  view.set_topology(eight_each("a", "8", "0"));
  view.set_topology(eight_each("b", "8", "0"));
  EXPECT_THAT(ask("p", "6", {"a"}).passed, ElementsAre(0));
  const FilterResult result = ask("q", "6", {"a", "b"});
  EXPECT_THAT(result.passed, ElementsAre(1));
  EXPECT_FALSE(result.is_undecided);
}

TEST_F(AnswersTest, APodThatMayBeElsewhereDoesNotBlockANodeForLong) {
  view.set_topology(eight_each("a", "8", "0"));
  view.set_topology(eight_each("b", "8", "0"));
  EXPECT_THAT(ask("p", "6", {"a", "b"}).passed, ElementsAre(0, 1));
  const FilterResult result = ask("q", "6", {"a"});
  EXPECT_TRUE(result.is_undecided);
  EXPECT_THAT(result.failed, ElementsAre(Pair("a", "other pods may be about to be bound there")));
  const auto args = args_for(watched("q", "6").spec, {"a"});
  const FilterResult decided = filter(view, args, now, Undecided::kPass);
  EXPECT_THAT(decided.passed, ElementsAre(0));
  EXPECT_THAT(decided.failed, IsEmpty());
  EXPECT_EQ(view.counts().in_flight, 2U);
}

TEST_F(AnswersTest, AFailedBindIsAskedAgainAndDoesNotBlockItself) {
  view.set_topology(eight_each("a", "8", "0"));
  EXPECT_THAT(ask("p", "6", {"a"}).passed, ElementsAre(0));
  EXPECT_THAT(ask("p", "6", {"a"}).passed, ElementsAre(0));
  view.remove_pod(PodUid("p"));
  EXPECT_THAT(ask("q", "6", {"a"}).passed, ElementsAre(0));
}

TEST_F(AnswersTest, APodThatIsNeverBoundFreesItsNodesInTime) {
  view.set_topology(eight_each("a", "8", "0"));
  EXPECT_THAT(ask("p", "6", {"a"}).passed, ElementsAre(0));
  now += std::chrono::seconds(29);
  EXPECT_THAT(ask("q", "6", {"a"}).passed, IsEmpty());
  now += std::chrono::seconds(1);
  EXPECT_THAT(ask("q", "6", {"a"}).passed, ElementsAre(0));
}

TEST_F(AnswersTest, RequestsLeaveNothingBehindOncePodsAreNoLongerInFlight) {
  view.set_topology(eight_each("a", "7", "3"));
  view.set_topology(eight_each("b", "7", "0"));
  for (const char* const uid : {"p", "q", "r", "p"}) {
    (void)ask(uid, "6", {"a", "b", "a"});
    (void)prioritize(view, args_for(watched(uid, "6").spec, {"a", "b"}),
                     ScoringStrategy::kLeastNumaNodes, now);
    (void)preempt(view, {watched(uid, "6").spec, {{"a", {}}, {"b", {}}}}, now);
  }
  (void)filter(view, args_for(watched("s", "6").spec, {"b"}), now, Undecided::kPass);
  const Fleet& fleet = view.fleet(now + view.options().reserve);
  for (const std::size_t node : {0U, 1U}) {
    const auto row = fleet.available(node, 0);
    EXPECT_THAT(std::vector(row.begin(), row.end()), ElementsAre(7000, node == 0 ? 3000 : 0));
  }
}

TEST_F(AnswersTest, PodsOfOtherSchedulersCount) {
  view.set_topology(eight_each("a", "8", "0"));
  auto foreign = watched("foreign", "6", "a");
  view.set_pod(foreign, now);
  EXPECT_THAT(ask("p", "6", {"a"}).passed, IsEmpty());
}

TEST_F(AnswersTest, ANodeThatHasJustRejectedAPodIsAvoided) {
  view.set_topology(eight_each("a"));
  bind("p", "6", "a");
  auto rejected = watched("p", "6", "a");
  rejected.has_ended = true;
  rejected.is_rejected = true;
  view.set_pod(rejected, now);
  EXPECT_THAT(ask("q", "6", {"a"}).failed,
              ElementsAre(Pair("a", "its kubelet has just rejected a pod that seemed to fit")));
  now += std::chrono::seconds(15);
  EXPECT_THAT(ask("q", "6", {"a"}).passed, ElementsAre(0));
  view.set_pod(rejected, now);  // a change of a pod that was rejected long ago
  EXPECT_THAT(ask("q", "6", {"a"}).passed, ElementsAre(0));
  EXPECT_EQ(view.counts().rejections, 1U);
}

TEST_F(AnswersTest, APodIsRankedWithoutItselfInFlight) {
  view.set_topology(eight_each("a", "8", "0"));
  EXPECT_THAT(ask("p", "6", {"a"}).passed, ElementsAre(0));
  const auto score = [&](const char* uid) {
    return prioritize(view, args_for(watched(uid, "6").spec, {"a"}),
                      ScoringStrategy::kLeastNumaNodes, now);
  };
  EXPECT_THAT(score("p"), ElementsAre(HostPriority{"a", 10}));
  EXPECT_THAT(score("q"), ElementsAre(HostPriority{"a", 0}));
}

TEST_F(AnswersTest, ScoresAreBetweenZeroAndTen) {
  view.set_topology(eight_each("a"));
  view.set_topology(test::zones_of("b", "restricted", "pod", {{"cpu", {"4", "4"}}}));
  view.set_topology(test::zones_of("c", "best-effort", "pod", {{"cpu", {"1", "1"}}}));
  EXPECT_THAT(prioritize(view, args_for(watched("p", "6").spec, {"a", "b", "c", "unknown"}),
                         ScoringStrategy::kLeastNumaNodes, now),
              ElementsAre(HostPriority{"a", 10}, HostPriority{"b", 5}, HostPriority{"c", 0},
                          HostPriority{"unknown", 0}));
}

class PreemptTest : public AnswersTest {
 protected:
  VictimsByNode judge(const VictimsByNode& victims) {
    return preempt(view, {watched("p", "6").spec, victims}, now);
  }
};

TEST_F(PreemptTest, KeepsNodesOnWhichTheVictimsFreeOneZone) {
  for (const std::string node : {"a", "b"}) {
    view.set_topology(eight_each(node, "4", "4"));
    for (const std::string zone : {"node-0", "node-1"}) {
      view.set_pod(observed(watched(node + zone, "4", node), {{zone, "cpu", 4000}}), now);
    }
  }
  const VictimsByNode one = {{"a", {{PodUid("anode-1")}, 1}}};
  EXPECT_EQ(judge(one), one);
  EXPECT_THAT(judge({{"b", {{PodUid("anode-1")}, 0}}}), IsEmpty());
}

TEST_F(PreemptTest, AVictimWithoutAKnownPlaceFreesNothing) {
  view.set_topology(eight_each("a", "4", "4"));
  view.begin_pods();
  bind("old", "4", "a");
  view.end_pods();
  EXPECT_THAT(judge({{"a", {{PodUid("old")}, 0}}}), IsEmpty());
}

TEST_F(PreemptTest, NodesWithoutTopologyAreKept) {
  const VictimsByNode victims = {{"unknown", {{PodUid("x")}, 2}}};
  EXPECT_EQ(judge(victims), victims);
}

TEST_F(PreemptTest, LeavesTheFleetUnchanged) {
  view.set_topology(eight_each("a", "4", "8"));
  bind("v", "4", "a");
  const auto before = view.fleet(now).available(0, 0);
  const std::vector<std::int64_t> amounts(before.begin(), before.end());
  (void)judge({{"a", {{PodUid("v")}, 0}}});
  const auto after = view.fleet(now).available(0, 0);
  EXPECT_EQ(std::vector(after.begin(), after.end()), amounts);
}

/// A scheduler with the extender, in front of real kubelets whose exporters are late.
class LateExporters {
 public:
  /// `sees_pods` is false for an extender that knows only what is published.
  LateExporters(int nodes, int delay, bool sees_pods)
      : cluster_({delay, 0}), sees_pods_(sees_pods) {
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      cluster_.add_node(name, {}, test::aligning_config("single-numa-node", "pod"));
      shown_[name] = cluster_.published(name);
      view_.set_topology(shown_[name]);
    }
  }

  /// Returns the node, or "" if no node passes.
  std::string schedule(const PodSpec& pod) {
    const auto args = args_for(pod, cluster_.names());
    const FilterResult result = filter(view_, args, now_);
    if (result.passed.empty()) return "";
    const std::string& node = args.nodes[result.passed.front()];
    const bool rejected = !cluster_.bind(node, pod);
    if (sees_pods_) {
      view_.set_pod({pod, node, rejected, rejected, std::nullopt, ""}, now_);
    } else {
      view_.remove_pod(pod.uid);
    }
    return rejected ? "" : node;
  }
  void remove(const std::string& node, const PodUid& uid) {
    cluster_.remove(node, uid.value);
    view_.remove_pod(uid);
  }
  /// Advances the time and delivers the topologies that have changed.
  void advance(int seconds) {
    now_ += std::chrono::seconds(seconds);
    cluster_.advance(seconds);
    for (auto& [name, topology] : shown_) {
      if (topology == cluster_.published(name)) continue;
      topology = cluster_.published(name);
      view_.set_topology(topology);
    }
  }
  [[nodiscard]] int rejections() const { return cluster_.rejections(); }

 private:
  test::SimulatedCluster cluster_;
  bool sees_pods_;
  ClusterView view_{{{}, std::chrono::seconds(15), std::chrono::seconds(30)}};
  std::map<std::string, NodeTopology> shown_;
  Time now_{0};
};

/// Adds and removes pods; returns how many the kubelets reject.
int rejections_of(LateExporters&& cluster) {
  std::uint64_t random = 3;
  std::vector<std::pair<std::string, PodUid>> running;
  for (int step = 0; step < 600; ++step) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const auto roll = static_cast<int>((random >> 33U) % 7);
    if (roll < 3 && !running.empty()) {
      cluster.remove(running.front().first, running.front().second);
      running.erase(running.begin());
    } else {
      const PodSpec pod = watched("p" + std::to_string(step), std::to_string(1 + roll)).spec;
      const std::string node = cluster.schedule(pod);
      if (!node.empty()) running.emplace_back(node, pod.uid);
    }
    cluster.advance(1);
  }
  return cluster.rejections();
}

TEST(FilterOfLateExporters, RejectionsBecomeATenthOfThoseByPublishedAmounts) {
  const int published = rejections_of({4, 10, false});
  EXPECT_GT(published, 20);
  EXPECT_LE(10 * rejections_of({4, 10, true}), published);
}

}  // namespace
}  // namespace pinfold::scheduling
