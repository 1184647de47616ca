#include "pinfold/predict/observed_placement.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "node_fixture.hpp"
#include "pinfold/decide/stale.hpp"
#include "pinfold/predict/node_topology.hpp"

namespace pinfold {
namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30U;

ObservedPlacement placement_of(const test::TestNode& node, const std::string& uid) {
  return observed_placement(node.node(), node.state(), PodUid(uid));
}

TEST(ObservedPlacement, HasCpusDevicesAndMemoryByZone) {
  test::TestNode node({.devices = {{"example.com/gpu", {2, 0}}}},
                      test::with_memory_manager(test::aligning_config("single-numa-node")));
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "3"}, {"memory", "2Gi"}, {"example.com/gpu", "1"}})),
            "");
  const ObservedPlacement placement = placement_of(node, "p");
  EXPECT_EQ(placement.amounts, (std::vector<ZoneAmount>{{"node-0", "cpu", 3000},
                                                        {"node-0", "example.com/gpu", 1},
                                                        {"node-0", "memory", 2 * kGib}}));
  EXPECT_EQ(placement.memory, (std::vector<MemoryGroup>{{{"node-0"}, {{"memory", 2 * kGib}}}}));
}

TEST(ObservedPlacement, MemoryOfSeveralNumaNodesIsAGroupOnly) {
  test::TestNode node({}, test::with_memory_manager(test::aligning_config("none")));
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "10"}, {"memory", "20Gi"}})), "");
  const ObservedPlacement placement = placement_of(node, "p");
  EXPECT_EQ(placement.amounts,
            (std::vector<ZoneAmount>{{"node-0", "cpu", 2000}, {"node-1", "cpu", 8000}}));
  EXPECT_EQ(placement.memory,
            (std::vector<MemoryGroup>{{{"node-0", "node-1"}, {{"memory", 20 * kGib}}}}));
}

TEST(ObservedPlacement, SharedPodsAndUnknownPodsHoldNothing) {
  test::TestNode node({}, test::aligning_config("none"));
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "500m"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(placement_of(node, "p").amounts, std::vector<ZoneAmount>{});
  EXPECT_EQ(placement_of(node, "other"), ObservedPlacement{});
}

/// Zone and resource to base units.
using ZoneTotals = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// What is allocatable, minus what is available.
ZoneTotals in_use(const test::TestNode& node) {
  const NodeState state = release_stale(node.node(), node.state());
  ZoneTotals totals;
  for (const Zone& zone : describe(node.node(), state, "n").zones) {
    for (const ZoneResource& resource : zone.resources) {
      const auto used = base_units(resource.name, resource.allocatable) -
                        base_units(resource.name, resource.available);
      if (used != 0) totals[{zone.name, resource.name}] = used;
    }
  }
  return totals;
}

ZoneTotals held_by_pods(const test::TestNode& node) {
  const NodeState state = release_stale(node.node(), node.state());
  ZoneTotals totals;
  for (const ActivePod& pod : state.pods) {
    for (const ZoneAmount& one : observed_placement(node.node(), state, pod.spec.uid).amounts) {
      totals[{one.zone, one.resource}] += one.amount;
    }
  }
  return totals;
}

/// A pod whose containers of all kinds hold, and reuse, CPUs, memory and devices.
PodSpec pod_of_all_kinds(const std::string& uid) {
  const test::Amounts small = {{"cpu", "1"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}};
  const test::Amounts large = {{"cpu", "3"}, {"memory", "3Gi"}, {"example.com/gpu", "2"}};
  return test::pod_of(uid, {test::container("init", large, ContainerKind::kInit),
                            test::container("sidecar", small, ContainerKind::kSidecar),
                            test::container("app", small)});
}

class PlacementsOfScope : public testing::TestWithParam<const char*> {};

TEST_P(PlacementsOfScope, AreWhatIsNoLongerAvailable) {
  test::TestNode node(
      {.devices = {{"example.com/gpu", {4, 4}}}},
      test::with_memory_manager(test::aligning_config("single-numa-node", GetParam())));
  EXPECT_EQ(held_by_pods(node), in_use(node));
  for (const char* const uid : {"a", "b", "c"}) {
    node.admit(pod_of_all_kinds(uid));
    EXPECT_EQ(held_by_pods(node), in_use(node)) << uid;
  }
  EXPECT_FALSE(in_use(node).empty());
  node.remove("a");
  EXPECT_EQ(held_by_pods(node), in_use(node));
}

INSTANTIATE_TEST_SUITE_P(Scopes, PlacementsOfScope, testing::Values("container", "pod"));

}  // namespace
}  // namespace pinfold
