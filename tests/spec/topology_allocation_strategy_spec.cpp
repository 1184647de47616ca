// The policy options "numa-allocation-strategy" and "numa-score-weights" of the topology manager.
// Scores and results are those of the enhancement's worked figures (KEP-6007) and of the tests of
// the code proposed for Kubernetes 1.38.

#include <gtest/gtest.h>

#include "node_fixture.hpp"
#include "pinfold/align/explanation.hpp"
#include "topology.hpp"

namespace pinfold::test {
namespace {

using Weights = std::map<std::string, int, std::less<>>;
using enum NumaAllocationStrategy;

constexpr const char* kGpus = "nvidia.com/gpu";
constexpr const char* kNics = "intel.com/sriov-nic";

// ---- Scores that are given ----

/// Of each resource, a preferred hint for each NUMA node, with its score.
struct GivenScores {
  std::map<std::string, std::vector<int>> per_cent;
  TopologyPolicy policy = TopologyPolicy::kSingleNumaNode;
};

std::string chosen(const GivenScores& given, NumaAllocationStrategy strategy,
                   const Weights& weights = {}) {
  NaiveRules rules;
  rules.policy = given.policy;
  rules.nodes = static_cast<int>(given.per_cent.begin()->second.size());
  rules.options.numa_allocation_strategy = strategy;
  rules.options.numa_score_weights = weights;
  ResourceHints provider;
  for (const auto& [resource, per_cent] : given.per_cent) {
    Hints& list = provider[resource].emplace();
    for (int node = 0; node < rules.nodes; ++node)
      list.push_back(on(std::uint64_t{1} << static_cast<unsigned>(node)));
    rules.usage[resource] = usage_of(per_cent);
  }
  const MergedHint merged = manager_of(rules).merge(std::vector{provider}, rules.usage);
  return merged.best.numa ? merged.best.numa->to_string() : "any";
}

/// The machine of the enhancement's example "prioritizing GPU consolidation".
const GivenScores kGpuMachine = {{{"cpu", {75, 25}}, {"memory", {50, 25}}, {kGpus, {25, 75}}}};

struct GpuCase {
  Weights weights;
  NumaAllocationStrategy strategy;
  const char* chosen;
};

TEST(AllocationStrategySpec, WeightsDecideWhichResourceCounts) {
  // The averages on NUMA node 0 and 1 are in the comments.
  for (const GpuCase& c : {
           GpuCase{{}, kMostAllocated, "0"},                                             // 50 41
           GpuCase{{{kGpus, 10}}, kMostAllocated, "1"},                                  // 31 66
           GpuCase{{{"cpu", 3}, {"memory", 1}, {kGpus, 6}}, kMostAllocated, "1"},        // 42 55
           GpuCase{{{"cpu", 5}, {kGpus, 5}}, kMostAllocated, "0"},                       // 50 47
           GpuCase{{{kGpus, 10}, {"cpu", 0}}, kMostAllocated, "1"},                      // 27 70
           GpuCase{{{"cpu", 100}, {"memory", 100}, {kGpus, 100}}, kMostAllocated, "0"},  // 50 41
           GpuCase{{{kGpus, 10}}, kLeastAllocated, "0"},                                 // 31 66
           GpuCase{{}, kLeastAllocated, "1"},                                            // 50 41
           GpuCase{{{"cpu", 0}, {"memory", 0}}, kMostAllocated, "1"},                    // 25 75
           GpuCase{{{kGpus, 10}}, kNone, "0"},  // weights alone do nothing
       }) {
    EXPECT_EQ(chosen(kGpuMachine, c.strategy, c.weights), c.chosen);
    GivenScores others = kGpuMachine;
    others.policy = TopologyPolicy::kRestricted;
    EXPECT_EQ(chosen(others, c.strategy, c.weights), c.chosen);
  }
}

TEST(AllocationStrategySpec, OnlyTheRatioOfWeightsCounts) {
  for (const int times : {1, 10}) {
    EXPECT_EQ(chosen({{{"cpu", {80, 75}}, {"memory", {60, 73}}}}, kMostAllocated,
                     {{"cpu", 7 * times}, {"memory", 3 * times}}),
              "0")  // 74 and 74.4, rounded down: the lower node
        << times;
  }
}

TEST(AllocationStrategySpec, AResourceWithoutAWeightHasOne) {
  // (80 * 8 + 40) / 9 is 75.
  EXPECT_EQ(chosen({{{"cpu", {76, 80}}, {kNics, {76, 40}}}}, kMostAllocated, {{"cpu", 8}}), "0");
  EXPECT_EQ(chosen({{{"cpu", {74, 80}}, {kNics, {74, 40}}}}, kMostAllocated, {{"cpu", 8}}), "1");
}

TEST(AllocationStrategySpec, AnotherResourcesWeightChangesNothing) {
  EXPECT_EQ(chosen(kGpuMachine, kMostAllocated, {{kNics, 100}}), "0");
}

TEST(AllocationStrategySpec, WithoutAWeightLeftTheLowestNodeWins) {
  EXPECT_EQ(chosen({{{"cpu", {80, 20}}, {"memory", {40, 10}}}}, kLeastAllocated,
                   {{"cpu", 0}, {"memory", 0}}),
            "0");
}

TEST(AllocationStrategySpec, ExcludedResourcesLeaveTheRestToDecide) {
  const GivenScores machine = {
      {{"cpu", {25, 75, 50, 50}}, {"memory", {25, 75, 50, 50}}, {kNics, {75, 25, 50, 50}}}};
  EXPECT_EQ(chosen(machine, kLeastAllocated), "0");                               // 41 58 50 50
  EXPECT_EQ(chosen(machine, kLeastAllocated, {{"cpu", 0}, {"memory", 0}}), "1");  // 75 25 50 50
}

TEST(AllocationStrategySpec, EqualScoresLeaveTheLowestNode) {
  EXPECT_EQ(chosen({{{"cpu", {50, 50}}}}, kMostAllocated), "0");
  EXPECT_EQ(chosen({{{"cpu", {0, 1}}}}, kLeastAllocated), "0") << "the least score is 1";
}

/// Merges hints of one resource "cpu" on four NUMA nodes in pairs: 0 and 1 are close, and 2 and 3.
std::string chosen_in_pairs(const Hints& hints, const std::vector<int>& per_cent, bool closest,
                            NumaAllocationStrategy strategy = kMostAllocated) {
  NaiveRules rules;
  rules.policy = TopologyPolicy::kBestEffort;
  rules.nodes = 4;
  rules.distances = {{10, 11, 12, 12}, {11, 10, 12, 12}, {12, 12, 10, 11}, {12, 12, 11, 10}};
  rules.options.prefer_closest_numa_nodes = closest;
  rules.options.numa_allocation_strategy = strategy;
  rules.usage["cpu"] = usage_of(per_cent);
  const std::vector<ResourceHints> providers = {{{"cpu", hints}}};
  return manager_of(rules).merge(providers, rules.usage).best.numa->to_string();
}

TEST(AllocationStrategySpec, DecidesBetweenMasksOfEqualDistance) {
  EXPECT_EQ(chosen_in_pairs({on(0b0011), on(0b1100)}, {20, 20, 80, 80}, true), "2-3");
}

TEST(AllocationStrategySpec, NeverBeatsTheCloserMask) {
  EXPECT_EQ(chosen_in_pairs({on(0b0011), on(0b0110)}, {20, 20, 80, 80}, true), "0-1");
  EXPECT_EQ(chosen_in_pairs({on(0b0011), on(0b0110)}, {20, 20, 80, 80}, false), "1-2");
}

TEST(AllocationStrategySpec, NeverBeatsTheNarrowerOrThePreferredMask) {
  EXPECT_EQ(chosen_in_pairs({on(0b0001), on(0b1100)}, {20, 0, 90, 90}, false), "0");
  EXPECT_EQ(chosen_in_pairs({on(0b0001), off(0b0010)}, {20, 90, 0, 0}, false), "0");
}

TEST(AllocationStrategySpec, DecidesBetweenMasksThatAreNotPreferred) {
  EXPECT_EQ(chosen_in_pairs({off(0b0001), off(0b0010)}, {20, 90, 0, 0}, false), "1");
  EXPECT_EQ(chosen_in_pairs({off(0b0001), off(0b0010)}, {20, 90, 0, 0}, false, kLeastAllocated),
            "0");
}

TEST(AllocationStrategySpec, IsExplainedWithTheScores) {
  NaiveRules rules;
  rules.policy = TopologyPolicy::kRestricted;
  rules.nodes = 2;
  rules.options.numa_allocation_strategy = kMostAllocated;
  rules.options.numa_score_weights = {{kGpus, 10}};
  ResourceHints provider;
  for (const auto& [resource, per_cent] : kGpuMachine.per_cent) {
    provider[resource] = Hints{on(0b01), on(0b10)};
    rules.usage[resource] = usage_of(per_cent);
  }
  const std::vector<ResourceHints> providers = {provider};
  const TopologyManager manager = manager_of(rules);
  const MergedHint merged = manager.merge(providers, rules.usage);
  const auto explained = explain_merge(manager, providers, merged, {}, rules.usage);
  EXPECT_EQ(explained.scores,
            (std::vector<ScoredNodes>{{NumaMask(0b10), 66}, {NumaMask(0b01), 31}}));
  EXPECT_EQ(sentences(manager, explained).back(),
            "aligned on NUMA 1, the best of 2 choices that suit every resource; most-allocated: "
            "66 %, NUMA 0 has 31 %");
}

// ---- Pods ----

Config with_strategy(Config config, const char* strategy, const char* weights = "") {
  config.feature_gates["TopologyManagerPolicyAlphaOptions"] = true;
  config.topology_manager_policy_options["numa-allocation-strategy"] = strategy;
  config.topology_manager_policy_options["numa-score-weights"] = weights;
  return config;
}

PodSpec of_cpus(const std::string& uid, const std::string& count) {
  return pod(uid, {{"cpu", count}, {"memory", "1Gi"}});
}

/// Returns the NUMA nodes of pods that are admitted one after the other.
std::string placements(const NodeShape& shape, const Config& config,
                       const std::vector<std::string>& cpus) {
  TestNode node(shape, config);
  std::string all;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const std::string uid = "p" + std::to_string(i);
    EXPECT_EQ(node.admit(of_cpus(uid, cpus[i])), "");
    all += node.affinity(uid) + " ";
  }
  return all;
}

TEST(AllocationStrategySpec, SpreadsOrPacksPods) {
  const NodeShape shape = {.numa = 3, .cpus = 8, .gib = 16};
  const std::vector<std::string> pods = {"2", "2", "2", "2", "2"};
  for (const char* const policy : {"single-numa-node", "restricted", "best-effort"}) {
    const Config config = aligning_config(policy);
    EXPECT_EQ(placements(shape, config, pods), "0+ 0+ 0+ 1+ 1+ ") << policy;
    EXPECT_EQ(placements(shape, with_strategy(config, "none"), pods), "0+ 0+ 0+ 1+ 1+ ") << policy;
    EXPECT_EQ(placements(shape, with_strategy(config, "least-allocated"), pods),
              "0+ 1+ 2+ 1+ 2+ ")  // of NUMA node 0, a CPU is reserved: 2 of 7 are more than 2 of 8
        << policy;
    EXPECT_EQ(placements(shape, with_strategy(config, "most-allocated"), {"6", "2", "2", "6"}),
              "0+ 1+ 1+ 2+ ")
        << policy;
  }
}

TEST(AllocationStrategySpec, KeepsTheRestForLargePods) {
  // 2 of 8 CPUs of NUMA node 1 are assigned. 4 more there leave all 7 of node 0.
  const NodeShape shape = {.numa = 2, .cpus = 8, .gib = 16, .devices = {{kNics, {0, 1}}}};
  const Config config = aligning_config("single-numa-node");
  for (const auto& [strategy, next] :
       {std::pair("most-allocated", ""), {"least-allocated", kAffinityError}}) {
    TestNode node(shape, with_strategy(config, strategy));
    ASSERT_EQ(node.admit(pod("nic", {{"cpu", "2"}, {"memory", "1Gi"}, {kNics, "1"}})), "");
    ASSERT_EQ(node.admit(of_cpus("a", "4")), "");
    ASSERT_EQ(node.admit(of_cpus("b", "7")), next) << strategy;
  }
}

TEST(AllocationStrategySpec, DevicesHaveScores) {
  const NodeShape shape = {.numa = 2, .cpus = 8, .gib = 16, .devices = {{kNics, {4, 4}}}};
  const auto nic = [](const std::string& uid) { return pod(uid, {{kNics, "1"}}); };
  const Config config = aligning_config("single-numa-node");
  TestNode spread(shape, with_strategy(config, "least-allocated"));
  TestNode packed(shape, with_strategy(config, "most-allocated"));
  for (const char* const uid : {"a", "b", "c"}) {
    ASSERT_EQ(spread.admit(nic(uid)), "");
    ASSERT_EQ(packed.admit(nic(uid)), "");
  }
  EXPECT_EQ(spread.affinity("a") + spread.affinity("b") + spread.affinity("c"), "0+1+0+");
  EXPECT_EQ(packed.affinity("a") + packed.affinity("b") + packed.affinity("c"), "0+0+0+");
}

TEST(AllocationStrategySpec, IsOfEachContainerInContainerScope) {
  const NodeShape shape = {.numa = 2, .cpus = 8, .gib = 16};
  const Amounts three = {{"cpu", "3"}, {"memory", "1Gi"}};
  const PodSpec two = pod_of("p", {container("a", three), container("b", three)});
  Config config = with_strategy(aligning_config("restricted"), "least-allocated");
  TestNode each(shape, config);
  ASSERT_EQ(each.admit(two), "");
  EXPECT_EQ(each.affinity("p", "a") + each.affinity("p", "b"), "0+1+");
  config.topology_manager_scope = "pod";
  TestNode together(shape, config);
  ASSERT_EQ(together.admit(two), "");
  EXPECT_EQ(together.affinity("p", "a") + together.affinity("p", "b"), "0+0+");
}

}  // namespace
}  // namespace pinfold::test
