#include <gtest/gtest.h>

#include "node_fixture.hpp"
#include "pinfold/predict/pod_query.hpp"
#include "zones.hpp"

namespace pinfold {
namespace {

using test::pod;
using test::two_zones;

constexpr const char* kDevice = "example.com/gpu";

/// A node whose first zone has 3 free CPUs and whose second zone has no free GPU.
NodeTopology split_node(const char* policy, const char* scope = "pod") {
  auto node = two_zones(policy, scope, {{"cpu", "16"}, {kDevice, "4"}});
  test::set_available(node, 0, "cpu", "3");
  test::set_available(node, 1, kDevice, "0");
  return node;
}

PodSpec cpus_and_gpus(const char* cpus, const char* gpus) {
  return pod("p", {{"cpu", cpus}, {"memory", "1Mi"}, {kDevice, gpus}});
}

NearMiss miss(const NodeTopology& node, const PodSpec& pod) {
  Fleet fleet;
  const std::size_t number = fleet.add(node).value();
  return PodQuery(fleet, pod).near_miss(number);
}

TEST(NearMiss, NamesTheZoneThatLacksLeast) {
  const NearMiss found = miss(split_node("single-numa-node"), cpus_and_gpus("4", "1"));
  EXPECT_EQ(found.why, "no NUMA node has cpu 4 and example.com/gpu 1 free");
  EXPECT_EQ(found.lacks, "node-0 lacks cpu 1");
  EXPECT_DOUBLE_EQ(found.distance, 0.25);
}

TEST(NearMiss, NamesAllThatAZoneLacks) {
  auto node = split_node("single-numa-node");
  test::set_available(node, 0, kDevice, "1");
  test::set_available(node, 1, "cpu", "2");
  test::set_available(node, 1, kDevice, "1");
  const NearMiss found = miss(node, cpus_and_gpus("4", "2"));
  EXPECT_EQ(found.lacks, "node-0 lacks cpu 1 and example.com/gpu 1");
  EXPECT_DOUBLE_EQ(found.distance, 0.75);
}

TEST(NearMiss, SaysTheSameOfNodesThatLackTheSame) {
  auto other = split_node("single-numa-node");
  test::set_available(other, 0, "cpu", "1");
  const PodSpec wants = cpus_and_gpus("4", "1");
  EXPECT_EQ(miss(other, wants).why, miss(split_node("single-numa-node"), wants).why);
  EXPECT_GT(miss(other, wants).distance, miss(split_node("single-numa-node"), wants).distance);
}

TEST(NearMiss, NamesWhatTheNodeLacksInTotal) {
  const NearMiss found = miss(split_node("single-numa-node"), cpus_and_gpus("20", "1"));
  EXPECT_EQ(found.why, "all NUMA nodes together have less than cpu 20 free");
  EXPECT_EQ(found.lacks, "it has cpu 19 of 20");
  EXPECT_NEAR(found.distance, 0.05, 1e-9);
  // Not the first resource of the request.
  EXPECT_EQ(miss(split_node("single-numa-node"), cpus_and_gpus("3", "20")).lacks,
            "it has example.com/gpu 8 of 20");
  EXPECT_EQ(miss(test::zones_of("n", "restricted", "pod", {{"memory", {"1Gi", "1Gi"}}}),
                 pod("p", {{"cpu", "1"}, {"memory", "3Gi"}}))
                .lacks,
            "it has memory 2Gi of 3Gi");
}

TEST(NearMiss, SeveralZonesHaveNoNearestOne) {
  const NearMiss found = miss(two_zones("restricted", "pod", {{"cpu", "16"}, {kDevice, "4"}}),
                              cpus_and_gpus("10", "6"));
  EXPECT_EQ(found.why,
            "cpu 10 prefers 1 zone, example.com/gpu 6 prefers 2 zones: the resources prefer "
            "different numbers of zones");
  EXPECT_EQ(found.lacks, "");
}

TEST(NearMiss, NamesTheContainer) {
  const PodSpec two = test::pod_of("p", {test::container("a", {{"cpu", "3"}, {"memory", "1Mi"}}),
                                         test::container("b", {{"cpu", "5"}, {"memory", "1Mi"}})});
  const auto node = test::zones_of("n", "single-numa-node", "container", {{"cpu", {"4", "4"}}});
  const NearMiss found = miss(node, two);
  EXPECT_EQ(found.why, "container 'b': no NUMA node has cpu 5 free");
  EXPECT_EQ(found.lacks, "node-1 lacks cpu 1");
}

TEST(NearMiss, IsEmptyIfThePodIsAligned) {
  EXPECT_EQ(miss(split_node("single-numa-node"), cpus_and_gpus("2", "1")), NearMiss{});
  EXPECT_EQ(miss(split_node("none"), cpus_and_gpus("4", "1")), NearMiss{});
  EXPECT_EQ(miss(NodeTopology{"n", {}, {}, {}}, cpus_and_gpus("4", "1")), NearMiss{});
}

TEST(PodQueryZones, SaysWhetherAnythingIsAligned) {
  Fleet fleet({kDevice});
  const std::size_t node = fleet.add(split_node("single-numa-node")).value();
  EXPECT_TRUE(PodQuery(fleet, cpus_and_gpus("4", "1")).requests_zones(node));
  EXPECT_FALSE(PodQuery(fleet, cpus_and_gpus("500m", "1")).requests_zones(node));
}

TEST(FleetReplace, ChangesAmountsAndPolicyInPlace) {
  Fleet fleet;
  ASSERT_TRUE(fleet.add(split_node("single-numa-node")));
  const std::size_t before = fleet.memory();
  auto changed = split_node("best-effort");
  test::set_available(changed, 0, "cpu", "7");
  ASSERT_TRUE(fleet.replace(0, changed));
  EXPECT_EQ(fleet.available(0, 0)[0], 7000);
  EXPECT_EQ(fleet.policy(0), TopologyPolicy::kBestEffort);
  EXPECT_EQ(fleet.memory(), before);
}

TEST(FleetReplace, TakesOtherZonesAndLeavesOtherNodesAlone) {
  Fleet fleet;
  ASSERT_TRUE(fleet.add(split_node("single-numa-node")));
  ASSERT_TRUE(fleet.add(two_zones("restricted", "pod", {{"cpu", "8"}}, "other")));
  ASSERT_TRUE(fleet.replace(0, test::zones_of("n", "none", "pod", {{"cpu", {"1", "2", "3"}}})));
  EXPECT_EQ(fleet.zone_count(0), 3);
  EXPECT_EQ(fleet.available(0, 0)[2], 3000);
  EXPECT_EQ(fleet.reach(0, 0)[2], 6000);
  EXPECT_EQ(fleet.available(1, 0)[1], 8000);
  EXPECT_EQ(fleet.find("n"), 0U);
}

}  // namespace
}  // namespace pinfold
