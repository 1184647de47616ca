#include "pinfold/predict/pod_query.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node_fixture.hpp"
#include "zones.hpp"

namespace pinfold {
namespace {

using test::pod;
using test::predicted;
using test::two_zones;
using test::zones_of;
using testing::ElementsAre;
using testing::Pair;

constexpr const char* kGpu = "example.com/gpu";

std::vector<int> scores(const std::vector<NodeTopology>& nodes, const PodSpec& pod,
                        ScoringStrategy strategy) {
  Fleet fleet;
  for (const NodeTopology& node : nodes) (void)fleet.add(node);
  std::vector<Prediction> predictions;
  PodQuery(fleet, pod).predict_all(strategy, predictions);
  std::vector<int> out;
  for (const Prediction& prediction : predictions) out.push_back(prediction.score);
  return out;
}

PodSpec gpu_pod(const char* cpus, const char* gpus) {
  return pod("p", {{"cpu", cpus}, {"memory", "1Mi"}, {kGpu, gpus}});
}

TEST(Scoring, StrategiesRankByZonesAndByUse) {
  auto free = two_zones("restricted", "pod", {{"cpu", "10"}, {kGpu, "10"}}, "free");
  auto used = two_zones("restricted", "pod", {{"cpu", "10"}, {kGpu, "10"}}, "used");
  auto uneven = two_zones("restricted", "pod", {{"cpu", "10"}, {kGpu, "10"}}, "uneven");
  for (const std::size_t zone : {0U, 1U}) {
    test::set_available(used, zone, "cpu", "4");
    test::set_available(used, zone, kGpu, "4");
    test::set_available(uneven, zone, "cpu", "2");
  }
  const std::vector<NodeTopology> nodes = {free, used, uneven};
  const PodSpec small = gpu_pod("2", "2");
  EXPECT_THAT(scores(nodes, small, ScoringStrategy::kLeastNumaNodes), ElementsAre(100, 100, 100));
  EXPECT_THAT(scores(nodes, small, ScoringStrategy::kLeastAllocated), ElementsAre(80, 20, 40));
  EXPECT_THAT(scores(nodes, small, ScoringStrategy::kMostAllocated), ElementsAre(20, 80, 60));
  EXPECT_THAT(scores(nodes, small, ScoringStrategy::kBalancedAllocation),
              ElementsAre(100, 100, 60));
}

TEST(Scoring, FewerZonesScoreHigherOnNodesOfAnySize) {
  const auto zones = [](const char* name, std::vector<std::string> amounts) {
    return zones_of(name, "restricted", "pod", {{"cpu", std::move(amounts)}});
  };
  EXPECT_THAT(
      scores({zones("a", {"12", "12"}), zones("b", {"8", "8"}), zones("c", {"4", "4", "4"}),
              zones("d", {"6", "6", "6", "6", "6", "6"})},
             pod("p", {{"cpu", "12"}, {"memory", "1Mi"}}), ScoringStrategy::kLeastNumaNodes),
      ElementsAre(100, 50, 33, 50));
}

TEST(Scoring, BestEffortNodesThatCanAlignComeFirstAndNoneIsRejected) {
  const auto able = two_zones("best-effort", "pod", {{"cpu", "8"}, {kGpu, "2"}}, "able");
  auto unable = two_zones("best-effort", "pod", {{"cpu", "8"}, {kGpu, "2"}}, "unable");
  test::set_available(unable, 0, "cpu", "1");
  test::set_available(unable, 1, kGpu, "0");
  const PodSpec wants = gpu_pod("4", "1");
  EXPECT_THAT(scores({able, unable}, wants, ScoringStrategy::kLeastNumaNodes), ElementsAre(100, 0));
  EXPECT_EQ(predicted(unable, wants), "passes");
  EXPECT_EQ(predicted(able, wants), "0");
}

TEST(Scoring, NoStrategyChangesAnOutcome) {
  Fleet fleet;
  for (int free = 0; free <= 8; ++free) {
    for (const char* const policy : {"none", "best-effort", "restricted", "single-numa-node"}) {
      auto node = two_zones(policy, "pod", {{"cpu", "8"}, {kGpu, "4"}},
                            std::string(policy) + "-" + std::to_string(free));
      test::set_available(node, 0, "cpu", std::to_string(free));
      test::set_available(node, 1, kGpu, std::to_string(free / 2));
      ASSERT_TRUE(fleet.add(node));
    }
  }
  for (const char* const cpus : {"1", "4", "9", "16"}) {
    PodQuery query(fleet, gpu_pod(cpus, "3"));
    std::vector<std::vector<std::pair<PredictedOutcome, NumaMask>>> seen;
    for (const auto strategy :
         {ScoringStrategy::kLeastNumaNodes, ScoringStrategy::kLeastAllocated,
          ScoringStrategy::kMostAllocated, ScoringStrategy::kBalancedAllocation}) {
      std::vector<Prediction> predictions;
      query.predict_all(strategy, predictions);
      auto& of_strategy = seen.emplace_back();
      for (const Prediction& prediction : predictions) {
        EXPECT_LE(prediction.score, 100);
        of_strategy.emplace_back(prediction.outcome, prediction.zones);
      }
      EXPECT_EQ(seen.back(), seen.front()) << to_string(strategy);
      EXPECT_EQ(parse_scoring_strategy(to_string(strategy)).value(), strategy);
    }
  }
  EXPECT_EQ(parse_scoring_strategy("Random").error().message,
            "'Random': expected LeastNUMANodes, LeastAllocated, MostAllocated or "
            "BalancedAllocation");
}

TEST(PodQueryExplain, NamesTheResourcesThatDoNotFitTogether) {
  const auto explain = [](const char* policy, const PodSpec& wants) {
    auto node = two_zones(policy, "pod", {{"cpu", "16"}, {kGpu, "4"}});
    test::set_available(node, 0, "cpu", "3");
    test::set_available(node, 1, kGpu, "0");
    Fleet fleet;
    const std::size_t number = fleet.add(node).value();
    return PodQuery(fleet, wants).explain(number);
  };
  EXPECT_EQ(explain("single-numa-node", gpu_pod("4", "1")),
            "pod: no zone has cpu 4 and example.com/gpu 1: cpu fits node-1, example.com/gpu fits "
            "node-0");
  EXPECT_EQ(explain("restricted", gpu_pod("4", "1")),
            "pod: no zone has cpu 4 and example.com/gpu 1: cpu fits node-1, example.com/gpu fits "
            "node-0");
  EXPECT_EQ(explain("restricted", gpu_pod("17", "4")),
            "pod: cpu 17 prefers 2 zones, example.com/gpu 4 prefers 1 zone: the resources prefer "
            "different numbers of zones");
  EXPECT_EQ(explain("best-effort", gpu_pod("4", "1")).substr(0, 17), "not aligned: pod:");
  EXPECT_EQ(explain("none", gpu_pod("4", "1")), "policy none aligns nothing");
  EXPECT_EQ(explain("restricted", gpu_pod("4", "0")), "node-1");
}

TEST(PodQueryExplain, SaysFirstWhatAllZonesTogetherLack) {
  const std::string none_free = "all zones together have 4 example.com/gpu available, 6 requested";
  const std::string none_at_all =
      "all zones together have 8 example.com/gpu allocatable, 9 requested";
  for (const char* const policy : {"single-numa-node", "restricted", "best-effort", "none"}) {
    for (const char* const scope : {"pod", "container"}) {
      auto node = two_zones(policy, scope, {{"cpu", "16"}, {kGpu, "4"}});
      test::set_available(node, 0, "cpu", "3");
      test::set_available(node, 1, kGpu, "0");
      Fleet fleet;
      ASSERT_TRUE(fleet.add(node));
      EXPECT_EQ(PodQuery(fleet, gpu_pod("20", "6")).explain(0).substr(0, 33),
                "all zones together have 19 cpu av")
          << policy << scope;
      EXPECT_EQ(PodQuery(fleet, gpu_pod("4", "6")).explain(0), none_free) << policy << scope;
      EXPECT_EQ(PodQuery(fleet, gpu_pod("4", "9")).explain(0), none_at_all) << policy << scope;
    }
  }
}

TEST(PodQueryExplain, NamesASetOfZonesThatIsMissing) {
  auto node = zones_of("n", "restricted", "pod", {{"cpu", {"8", "8", "8"}}});
  for (const std::size_t zone : {0U, 1U, 2U}) test::set_available(node, zone, "cpu", "5");
  Fleet fleet;
  ASSERT_TRUE(fleet.add(node));
  const PodSpec twelve = pod("p", {{"cpu", "12"}, {"memory", "1Mi"}});
  EXPECT_EQ(PodQuery(fleet, twelve).explain(0), "pod: needs 2 zones, and no 2 have cpu 12 free");
}

TEST(PodQueryGroup, EachNodeIsInOne) {
  const auto group = [](const NodeTopology& node, const PodSpec& wants) {
    Fleet fleet;
    (void)fleet.add(node);
    PodQuery query(fleet, wants);
    return std::string(
        to_string(query.group(0, query.predict(0, ScoringStrategy::kLeastNumaNodes))));
  };
  const auto of = [](const char* policy) {
    return two_zones(policy, "pod", {{"cpu", "8"}, {kGpu, "2"}});
  };
  EXPECT_EQ(group(of("single-numa-node"), gpu_pod("4", "1")), "aligned");
  EXPECT_EQ(group(of("single-numa-node"), gpu_pod("9", "1")), "cannotAlign");
  EXPECT_EQ(group(of("single-numa-node"), gpu_pod("17", "1")), "tooLittle");
  EXPECT_EQ(group(of("best-effort"), gpu_pod("4", "1")), "aligned");
  EXPECT_EQ(group(of("best-effort"), gpu_pod("9", "1")), "notAligned");
  EXPECT_EQ(group(of("none"), gpu_pod("9", "1")), "notAligned");
  EXPECT_EQ(group(of("none"), gpu_pod("17", "1")), "tooLittle");
  EXPECT_EQ(group(NodeTopology{"n", {}, {}, {}}, gpu_pod("17", "1")), "noZones");
}

/// The kubelet's check of requests counts it, as admit and explain do.
TEST(PodQuery, OverheadCountsInTheTotal) {
  const auto node = two_zones("none", "pod", {{"cpu", "4"}});
  PodSpec wants = pod("p", {{"cpu", "8"}, {"memory", "1Mi"}});
  EXPECT_EQ(predicted(node, wants), "passes");
  wants.overhead["cpu"] = Quantity::parse("1").value();
  EXPECT_EQ(predicted(node, wants), "rejected");
}

TEST(PodQueryExplain, NamesTheContainer) {
  Fleet fleet;
  ASSERT_TRUE(fleet.add(two_zones("single-numa-node", "container", {{"cpu", "4"}})));
  const PodSpec two = test::pod_of("p", {test::container("a", {{"cpu", "3"}, {"memory", "1Mi"}}),
                                         test::container("b", {{"cpu", "5"}, {"memory", "1Mi"}})});
  EXPECT_EQ(PodQuery(fleet, two).explain(0), "container 'b': no zone has cpu 5: cpu fits none");
}

TEST(PodQueryPodLevel, ABudgetThatExclusiveContainersUseUpIsRejected) {
  const auto predict_with = [](const char* policy, const char* scope, const char* exclusive_cpus) {
    PodSpec wants = test::pod_of(
        "p", {test::container("exclusive", {{"cpu", exclusive_cpus}, {"memory", "1Mi"}}),
              test::container("shared", {})});
    const ResourceList budget = {{"cpu", *Quantity::parse("4")},
                                 {"memory", *Quantity::parse("8Mi")}};
    wants.resources = Resources{budget, budget};
    Fleet fleet;
    (void)fleet.add(two_zones(policy, scope, {{"cpu", "16"}, {"memory", "1Gi"}}));
    PodQuery query(fleet, wants);
    return std::pair(query.predict(0, ScoringStrategy::kLeastNumaNodes).outcome, query.explain(0));
  };
  const std::string why = "pod: its exclusive containers leave no cpu for its shared containers";
  EXPECT_THAT(predict_with("single-numa-node", "pod", "4"), Pair(PredictedOutcome::kRejected, why));
  EXPECT_THAT(predict_with("restricted", "pod", "4"), Pair(PredictedOutcome::kRejected, why));
  EXPECT_THAT(predict_with("best-effort", "pod", "4"),
              Pair(PredictedOutcome::kPasses, "not aligned: " + why));
  EXPECT_THAT(predict_with("single-numa-node", "pod", "3"),
              Pair(PredictedOutcome::kFits, "node-0"));
  EXPECT_EQ(predict_with("single-numa-node", "container", "4").first, PredictedOutcome::kFits);
}

TEST(Fleets, ZonesAreOrderedByTheirNumber) {
  NodeTopology topology = zones_of("n", "single-numa-node", "pod", {{"cpu", {"1", "8", "8"}}});
  topology.zones[0].name = "node-10";
  topology.zones[1].name = "node-9";
  topology.zones[2].name = "node-2";
  Fleet fleet;
  ASSERT_TRUE(fleet.add(topology));
  EXPECT_EQ(fleet.zone_name(0, 0), "node-2");
  EXPECT_EQ(fleet.zone_name(0, 2), "node-10");
  EXPECT_EQ(predicted(fleet, pod("p", {{"cpu", "4"}, {"memory", "1Mi"}})), "0");
}

TEST(Fleets, OnlyZonesOfTypeNodeCount) {
  NodeTopology topology = two_zones("single-numa-node", "pod", {{"cpu", "4"}});
  topology.zones.push_back({"socket-0", "Socket", "", {}, {}, topology.zones[0].resources});
  Fleet fleet;
  ASSERT_TRUE(fleet.add(topology));
  EXPECT_EQ(fleet.zone_count(0), 2);
}

TEST(Fleets, ANameIsUsedOnce) {
  Fleet fleet;
  ASSERT_TRUE(fleet.add(two_zones("none", "pod", {}, "a")));
  EXPECT_EQ(fleet.add(two_zones("none", "pod", {}, "a")).error().message,
            "node 'a': expected a unique name");
}

}  // namespace
}  // namespace pinfold
