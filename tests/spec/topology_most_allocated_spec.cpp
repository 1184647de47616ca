// The draft enhancement "prefer-most-allocated-numa-node" of the topology manager, one test for
// each sentence.

#include <gtest/gtest.h>

#include "node_fixture.hpp"

namespace pinfold::test {
namespace {

constexpr const char* kOption = "prefer-most-allocated-numa-node";
constexpr const char* kDevice = "example.com/nic";

/// NUMA node 1 has a device, so that a pod can be pinned there.
const NodeShape kDeviceOnOne = {.numa = 2, .cpus = 8, .gib = 16, .devices = {{kDevice, {0, 1}}}};

Config packing(Config config) {
  config.topology_manager_policy_options[kOption] = "true";
  config.feature_gates["TopologyManagerPolicyAlphaOptions"] = true;
  return config;
}
Config packing_single() { return packing(aligning_config("single-numa-node")); }

PodSpec cpus(const std::string& uid, const std::string& count) {
  return pod(uid, {{"cpu", count}, {"memory", "1Gi"}});
}
PodSpec pinned(const std::string& uid, const std::string& cpu, const std::string& memory = "1Gi") {
  return pod(uid, {{"cpu", cpu}, {"memory", memory}, {kDevice, "1"}});
}

std::vector<int> per_cent(const std::vector<NumaUsage>& usage) {
  std::vector<int> all;
  for (const NumaUsage& node : usage) {
    all.push_back(static_cast<int>(node.assigned * 100 / node.allocatable));
  }
  return all;
}

TEST(MostAllocatedSpec, WithoutTheOptionTheLowestNodeWins) {
  TestNode node(kDeviceOnOne, aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(pinned("b", "3")), "");
  ASSERT_EQ(node.admit(cpus("a", "2")), "");
  EXPECT_EQ(node.affinity("a"), "0+");
}

TEST(MostAllocatedSpec, TheBusierNodeWinsWithTheOption) {
  TestNode node(kDeviceOnOne, packing_single());
  ASSERT_EQ(node.admit(pinned("b", "3")), "");
  ASSERT_EQ(node.admit(cpus("a", "2")), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(MostAllocatedSpec, ALargerHoleIsLeftForTheNextPod) {
  TestNode today(kDeviceOnOne, aligning_config("single-numa-node"));
  TestNode packed(kDeviceOnOne, packing_single());
  for (TestNode* const node : {&today, &packed}) {
    ASSERT_EQ(node->admit(pinned("b", "3")), "");
    ASSERT_EQ(node->admit(cpus("a", "2")), "");
  }
  EXPECT_EQ(today.admit(cpus("next", "7")), kAffinityError);
  EXPECT_EQ(packed.admit(cpus("next", "7")), "");
}

TEST(MostAllocatedSpec, IsRejectedWithoutTheAlphaGate) {
  Config config = packing_single();
  config.feature_gates.clear();
  const auto node = Node::make(machine_of(kDeviceOnOne), config);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().stage, StartStage::kTopologyManager);
}

TEST(MostAllocatedSpec, HasNoEffectUnderOtherPolicies) {
  for (const char* const policy : {"best-effort", "restricted"}) {
    TestNode node(kDeviceOnOne, packing(aligning_config(policy)));
    ASSERT_EQ(node.admit(pinned("b", "3")), "");
    ASSERT_EQ(node.admit(cpus("a", "2")), "");
    EXPECT_EQ(node.affinity("a"), "0+") << policy;
  }
}

TEST(MostAllocatedSpec, ComparesOnlyNodesThatFitEveryProvider) {
  TestNode node(kDeviceOnOne, packing_single());
  ASSERT_EQ(node.admit(pinned("b", "6")), "");
  ASSERT_EQ(node.admit(cpus("a", "4")), "");
  EXPECT_EQ(node.affinity("a"), "0+");  // node 1 is busier but has only 2 CPUs left
}

TEST(MostAllocatedSpec, EqualShareOfCpusIsUndecided) {
  TestNode node({.numa = 3, .cpus = 8, .devices = {{kDevice, {0, 1, 1}}}}, packing_single());
  ASSERT_EQ(node.admit(pinned("b", "4")), "");
  ASSERT_EQ(node.admit(pinned("c", "4")), "");  // busy nodes 1 and 2, free node 0
  ASSERT_EQ(node.admit(cpus("a", "2")), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(MostAllocatedSpec, ReservedCpusChangeTheShare) {
  // On node 0, 3 of 8 CPUs are reserved: 2 of 5 CPUs are more there than 3 of 8 on node 1.
  Config config = packing_single();
  config.reserved_system_cpus = "0-2";
  TestNode node({.numa = 2, .cpus = 8, .devices = {{kDevice, {1, 0}}, {"example.com/gpu", {0, 1}}}},
                config);
  ASSERT_EQ(node.admit(pinned("b", "2")), "");
  ASSERT_EQ(node.admit(pod("c", {{"cpu", "3"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  ASSERT_EQ(node.admit(cpus("a", "1")), "");
  EXPECT_EQ(node.affinity("a"), "0+");
}

TEST(MostAllocatedSpec, ManagersThatAreNotStaticDecideNothing) {
  Config config = packing_single();
  config.cpu_manager_policy = "none";
  TestNode node({.numa = 2, .devices = {{kDevice, {0, 1}}, {"example.com/gpu", {1, 1}}}}, config);
  ASSERT_EQ(node.admit(pinned("b", "3")), "");
  ASSERT_EQ(node.admit(pod("a", {{"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.affinity("a"), "0+");
}

TEST(MostAllocatedSpec, MemoryAloneDecidesIfCpusDoNot) {
  Config config = with_memory_manager(packing_single());
  config.cpu_manager_policy = "none";
  TestNode node(kDeviceOnOne, config);
  ASSERT_EQ(node.admit(pinned("b", "3", "6Gi")), "");
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "2"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(MostAllocatedSpec, CpusAloneDecideIfMemoryDoesNot) {
  TestNode node(kDeviceOnOne, packing_single());  // memory manager None
  ASSERT_EQ(node.admit(pinned("b", "3", "6Gi")), "");
  ASSERT_EQ(node.admit(cpus("a", "2")), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(MostAllocatedSpec, BothDecideIfTheyAgree) {
  TestNode node(kDeviceOnOne, with_memory_manager(packing_single()));
  ASSERT_EQ(node.admit(pinned("b", "3", "6Gi")), "");
  ASSERT_EQ(node.admit(cpus("a", "2")), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(MostAllocatedSpec, TheLowestNodeWinsIfTheyDisagree) {
  TestNode node({.numa = 3, .gib = 16, .devices = {{kDevice, {0, 1, 1}}}},
                with_memory_manager(packing_single()));
  ASSERT_EQ(node.admit(pinned("many-cpus", "5", "1Gi")), "");    // node 1
  ASSERT_EQ(node.admit(pinned("much-memory", "2", "9Gi")), "");  // node 2
  ASSERT_EQ(node.affinity("many-cpus"), "1+");
  ASSERT_EQ(node.affinity("much-memory"), "2+");
  ASSERT_EQ(node.admit(cpus("fill", "7")), "");  // of the busy nodes only node 0 has room
  ASSERT_EQ(node.affinity("fill"), "0+");
  ASSERT_EQ(node.admit(cpus("a", "2")), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(MostAllocatedSpec, HugePagesAreNoSignal) {
  MachineDescription description = machine_of(kDeviceOnOne).description();
  for (NumaNode& numa : description.numa_nodes) numa.hugepages["hugepages-1Gi"] = 4ULL << 30U;
  const auto node =
      Node::make(Machine::make(description).value(), with_memory_manager(packing_single()));
  ASSERT_TRUE(node) << node.error().error;
  NodeState state;
  ASSERT_TRUE(node->cpu().start(state.cpu));
  ASSERT_TRUE(node->memory().start(state.memory));
  const PodSpec huge =
      pod("b", {{"cpu", "100m"}, {"memory", "1Gi"}, {"hugepages-1Gi", "2Gi"}, {kDevice, "1"}});
  state = std::get<Admitted>(decide(*node, state, huge)).next;
  // 1Gi of the 12Gi that huge pages leave, regardless of how many huge pages are used.
  EXPECT_EQ(per_cent(node->memory().usage(state.memory).at("memory")), (std::vector<int>{0, 8}));
}

TEST(MostAllocatedSpec, SharesAreWholePercentages) {
  TestNode node(kDeviceOnOne, packing_single());
  ASSERT_EQ(node.admit(pinned("b", "3")), "");
  NodeState state;
  ASSERT_TRUE(node.node().cpu().start(state.cpu));
  const Decision decision = decide(node.node(), state, pinned("b", "3"));
  // 3 * 100 / 8 = 37.5 on node 1.
  EXPECT_EQ(per_cent(node.node().cpu().usage(std::get<Admitted>(decision).next.cpu)),
            (std::vector<int>{0, 37}));
}

}  // namespace
}  // namespace pinfold::test
