// What a scheduler must predict for the policy restricted: the worked table of the KAI scheduler's
// design for NUMA-aware scheduling ("Modeling restricted: the hint merge"), and its rules, one test
// for each sentence. Memory is not aligned (memory manager None).

#include <gtest/gtest.h>

#include "node_fixture.hpp"

namespace pinfold::test {
namespace {

constexpr const char* kGpu = "example.com/gpu";

NodeShape node_with(int gpus, int cpus) {
  return {.numa = 2, .cpus = cpus, .devices = {{kGpu, {gpus, gpus}}}};
}

PodSpec gpus_and_cpus(const std::string& uid, int gpus, int cpus) {
  return pod(uid, {{kGpu, std::to_string(gpus)}, {"cpu", std::to_string(cpus)}, {"memory", "1Gi"}});
}

struct Row {
  const char* name;
  int gpus_per_node;
  int cpus_per_node;
  int gpus;
  int cpus;
  std::string verdict;
  std::string affinity;
};

class RestrictedTable : public testing::TestWithParam<Row> {};

TEST_P(RestrictedTable, HasTheVerdict) {
  const Row& row = GetParam();
  TestNode node(node_with(row.gpus_per_node, row.cpus_per_node), aligning_config("restricted"));
  ASSERT_EQ(node.admit(gpus_and_cpus("a", row.gpus, row.cpus)), row.verdict);
  EXPECT_EQ(row.verdict.empty() ? node.affinity("a") : "", row.affinity);
}

INSTANTIATE_TEST_SUITE_P(, RestrictedTable,
                         testing::Values(Row{"GpusNeedTwoNodesAndCpusOne", 4, 16, 6, 10,
                                             kAffinityError, ""},
                                         Row{"GpusAndCpusNeedTwoNodes", 4, 16, 6, 24, "", "0-1+"},
                                         Row{"FourGpusAndOneCpu", 2, 64, 4, 1, kAffinityError, ""}),
                         [](const auto& row) { return row.param.name; });

TEST(RestrictedSpec, BothHintsOfTheFirstRowMatchTheTable) {
  TestNode node(node_with(4, 16), aligning_config("restricted"));
  ASSERT_EQ(node.admit(gpus_and_cpus("a", 6, 10)), kAffinityError);
  const HintList gpu = {{{NumaMask(3), true}}};
  const HintList cpu = {{{NumaMask(1), true}, {NumaMask(2), true}, {NumaMask(3), false}}};
  EXPECT_EQ(node.hints().at("c").at(kGpu), gpu);
  EXPECT_EQ(node.hints().at("c").at("cpu"), cpu);
}

TEST(RestrictedSpec, FourGpusRunIfTheCpusNeedTwoNodesAsWell) {
  TestNode node(node_with(2, 16), aligning_config("restricted"));
  ASSERT_EQ(node.admit(gpus_and_cpus("a", 4, 17)), "");
  EXPECT_EQ(node.affinity("a"), "0-1+");
}

TEST(RestrictedSpec, FourGpusAndOneCpuRunUnderBestEffort) {
  TestNode node(node_with(2, 16), aligning_config("best-effort"));
  EXPECT_EQ(node.admit(gpus_and_cpus("a", 4, 1)), "");
}

TEST(RestrictedSpec, PreferredWidthComesFromCapacityAndFeasibilityFromFreeResources) {
  TestNode node(node_with(2, 16), aligning_config("restricted"));
  ASSERT_EQ(node.admit(gpus_and_cpus("one-on-each-a", 1, 9)), "");  // leaves one GPU on node 0,
  ASSERT_EQ(node.admit(gpus_and_cpus("one-on-each-b", 1, 9)), "");  // and one on node 1
  ASSERT_EQ(node.affinity("one-on-each-a"), "0+");
  ASSERT_EQ(node.affinity("one-on-each-b"), "1+");
  // Capacity would fit two GPUs on one node; the two free ones are not on a preferred mask.
  EXPECT_EQ(node.admit(pod("two", {{kGpu, "2"}})), kAffinityError);
  const HintList gpu = {{{NumaMask(3), false}}};
  EXPECT_EQ(node.hints().at("c").at(kGpu), gpu);
}

TEST(RestrictedSpec, SingleNumaNodeIsTheSpecialCaseOfOneNode) {
  for (const char* const policy : {"restricted", "single-numa-node"}) {
    TestNode node(node_with(4, 16), aligning_config(policy));
    EXPECT_EQ(node.admit(gpus_and_cpus("a", 4, 10)), "") << policy;
    EXPECT_EQ(node.affinity("a"), "0+") << policy;
  }
}

TEST(RestrictedSpec, AFullNodePodIsRejectedUnderSingleNumaNodeOnly) {
  TestNode restricted(node_with(4, 16), aligning_config("restricted"));
  EXPECT_EQ(restricted.admit(gpus_and_cpus("a", 8, 31)), "");
  TestNode single(node_with(4, 16), aligning_config("single-numa-node"));
  EXPECT_EQ(single.admit(gpus_and_cpus("a", 8, 31)), kAffinityError);
}

TEST(RestrictedSpec, APodThatNeedsASingleNodeGetsTheLowestOfThem) {
  TestNode node({.numa = 4, .cpus = 8, .devices = {{kGpu, {0, 1, 1, 1}}}},
                aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(gpus_and_cpus("a", 1, 2)), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(RestrictedSpec, ThreePodsThatFitTheNodeButNotItsZones) {
  // With node 0 full, two zones of 4 CPUs are left for pods of 3, 3 and 2.
  TestNode node({.numa = 3, .cpus = 4}, aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(pod("system", {{"cpu", "3"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.admit(pod("a", {{"cpu", "3"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.admit(pod("b", {{"cpu", "3"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.admit(pod("c", {{"cpu", "2"}, {"memory", "1Gi"}})), kAffinityError);
}

}  // namespace
}  // namespace pinfold::test
