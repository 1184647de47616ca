// The options of the topology manager as Kubernetes documents them, one test for each sentence.

#include <gtest/gtest.h>

#include "node_fixture.hpp"

namespace pinfold::test {
namespace {

/// Four nodes in two pairs, 0 with 3 and 1 with 2: the first pair is closest, others are far.
const NodeShape kPairs = {
    .numa = 4,
    .distances = {{10, 21, 21, 11}, {21, 10, 12, 21}, {21, 12, 10, 21}, {11, 21, 21, 10}}};

Config with_option(Config config, const std::string& name, const std::string& value) {
  config.topology_manager_policy_options[name] = value;
  return config;
}

std::string start_error(const NodeShape& shape, const Config& config) {
  const auto node = Node::make(machine_of(shape), config);
  return node ? "" : node.error().error;
}

TEST(TopologyOptionsSpec, StableOptionsNeedNoGate) {
  for (const Profile profile : kProfiles) {
    Config config = with_option(aligning_config("restricted"), "prefer-closest-numa-nodes", "true");
    config = with_option(std::move(config), "max-allowable-numa-nodes", "9");
    config.profile = profile;
    for (const char* const gate : {"TopologyManagerPolicyBetaOptions", "AllBeta"}) {
      config.feature_gates = {{gate, false}};
      EXPECT_EQ(start_error(kPairs, config), "") << to_string(profile) << gate;
    }
  }
}

TEST(TopologyOptionsSpec, AlphaOptionsAreAvailableOnlyIfTheirGateIsOn) {
  Config config =
      with_option(aligning_config("restricted"), "prefer-most-allocated-numa-node", "true");
  EXPECT_NE(start_error(kPairs, config), "");
  config.feature_gates["TopologyManagerPolicyAlphaOptions"] = true;
  EXPECT_EQ(start_error(kPairs, config), "");
}

TEST(TopologyOptionsSpec, AnOptionIsOffUntilItIsEnabledItself) {
  Config config = aligning_config("restricted");
  config.feature_gates["TopologyManagerPolicyAlphaOptions"] = true;
  const TestNode node(kPairs, config);
  EXPECT_EQ(node.node().topology().options(),
            (TopologyOptions{.max_allowable_numa_nodes =
                                 node.node().topology().options().max_allowable_numa_nodes}));
}

TEST(TopologyOptionsSpec, DistancesDoNotMatterByDefault) {
  TestNode node(kPairs, aligning_config("restricted"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "9"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("a"), "0-1+");
}

TEST(TopologyOptionsSpec, ByDefaultTheFewestNodesAreTaken) {
  TestNode node(kPairs, aligning_config("best-effort"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "8"}, {"memory", "1Gi"}})), "");
  ASSERT_EQ(node.admit(pod("b", {{"cpu", "9"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("a"), "1+");
  EXPECT_EQ(node.affinity("b"), "0,2+");
}

TEST(TopologyOptionsSpec, ClosestNodesAreFavouredWithBestEffortAndRestricted) {
  for (const char* const policy : {"best-effort", "restricted"}) {
    TestNode node(kPairs,
                  with_option(aligning_config(policy), "prefer-closest-numa-nodes", "true"));
    ASSERT_EQ(node.admit(pod("a", {{"cpu", "9"}, {"memory", "1Gi"}})), "");
    EXPECT_EQ(node.affinity("a"), "0,3+") << policy;
  }
}

TEST(TopologyOptionsSpec, OfEquallyCloseNodesTheLowerMaskIsTaken) {
  NodeShape even = kPairs;
  even.distances[0][3] = even.distances[3][0] = 12;
  TestNode node(even, with_option(aligning_config("restricted"), "prefer-closest-numa-nodes", "1"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "9"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("a"), "1-2+");
}

TEST(TopologyOptionsSpec, ClosestNodesAreNeverMoreNodes) {
  TestNode node(kPairs,
                with_option(aligning_config("restricted"), "prefer-closest-numa-nodes", "true"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "8"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(TopologyOptionsSpec, ClosestNodesDoNotMatterToSingleNumaNode) {
  TestNode node(kPairs, with_option(aligning_config("single-numa-node"),
                                    "prefer-closest-numa-nodes", "true"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "4"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("a"), "0+");
}

TEST(TopologyOptionsSpec, TheKubeletRejectsMoreThanEightNodes) {
  Config config = aligning_config("restricted");
  config.profile = Profile::kKubelet136;
  EXPECT_EQ(start_error({.numa = 9, .cpus = 2}, config),
            "unsupported on machines with more than 8 NUMA Nodes");
  EXPECT_EQ(start_error({.numa = 8, .cpus = 2}, config), "");
}

TEST(TopologyOptionsSpec, MoreNodesAreAllowedIfConfigured) {
  Config config = with_option(aligning_config("restricted"), "max-allowable-numa-nodes", "9");
  config.profile = Profile::kKubelet136;
  TestNode node({.numa = 9, .cpus = 2}, config);
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "3"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("a"), "0-1+");
}

}  // namespace
}  // namespace pinfold::test
