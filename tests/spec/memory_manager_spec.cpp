// The rules that Kubernetes documents for the memory manager ("Node resource managers", memory
// management policies; "Reserve compute resources", reservedMemory), one test for each sentence.

#include "memory_fixture.hpp"
#include "pinfold/align/topology_manager.hpp"

namespace pinfold::memory_test {
namespace {

PodSpec guaranteed(const std::string& uid, const std::map<std::string, std::string>& amounts) {
  return pod_of(uid, {container_of("c", amounts)});
}

TEST(MemoryManagerSpec, GivesMemoryToGuaranteedPods) {
  Node node(even_machine(2, 8));
  ASSERT_EQ(node.admit(guaranteed("a", {{"memory", "2Gi"}})), "");
  EXPECT_EQ(node.table(0).reserved, 2 * kGi);
}

TEST(MemoryManagerSpec, GivesHugePagesToGuaranteedPods) {
  Node node(machine_of(
      {{.id = 0, .gib = 16, .hugepages = {{"hugepages-2Mi", kGi}, {"hugepages-1Gi", 4 * kGi}}}}));
  ASSERT_EQ(node.admit(guaranteed(
                "a", {{"memory", "1Gi"}, {"hugepages-2Mi", "512Mi"}, {"hugepages-1Gi", "3Gi"}})),
            "");
  EXPECT_EQ(node.table(0, "hugepages-2Mi").free, kGi / 2);
  EXPECT_EQ(node.table(0, "hugepages-1Gi").free, kGi);
  EXPECT_EQ(node.table(0).reserved, kGi);
}

TEST(MemoryManagerSpec, GivesNothingToBurstablePods) {
  Node node(even_machine(2, 8));
  PodSpec pod = guaranteed("a", {{"memory", "2Gi"}});
  pod.containers[0].resources.limits["memory"] = *Quantity::parse("3Gi");
  ASSERT_EQ(node.admit(pod), "");
  EXPECT_EQ(node.state.assignments.find({PodUid("a"), "c"}), nullptr);
}

TEST(MemoryManagerSpec, GivesNothingToBestEffortPods) {
  Node node(even_machine(2, 8));
  PodSpec pod = guaranteed("a", {});
  pod.containers[0].resources = {};
  ASSERT_EQ(node.admit(pod), "");
  EXPECT_EQ(node.state.assignments.find({PodUid("a"), "c"}), nullptr);
}

TEST(MemoryManagerSpec, HintsYieldTheMostSuitableNodes) {
  Node node(even_machine(2, 8));
  ASSERT_EQ(node.admit(guaranteed("a", {{"memory", "6Gi"}}), hint_of(0b01)), "");
  const PodSpec pod = guaranteed("b", {{"memory", "4Gi"}});
  EXPECT_EQ(print(node.manager.container_hints(node.state, pod, pod.containers[0])), "1*");
}

/// Merges a pod's memory hints when the CPUs allow only `cpu`.
MergedHint merge_with(const std::string& policy, const Node& node, const PodSpec& pod,
                      const TopologyHint& cpu) {
  Config config;
  config.topology_manager_policy = policy;
  const auto manager = TopologyManager::make({.count = 2, .distances = {}}, config);
  EXPECT_TRUE(manager);
  const std::vector<ResourceHints> offers = {
      {{"cpu", std::vector<TopologyHint>{cpu}}},
      node.manager.container_hints(node.state, pod, pod.containers[0])};
  return manager->merge(offers, {});
}

TEST(MemoryManagerSpec, TheTopologyManagerAdmitsByItsHints) {
  const Node node(even_machine(2, 8));
  const PodSpec pod = guaranteed("a", {{"memory", "2Gi"}});
  const MergedHint merged = merge_with("single-numa-node", node, pod, hint_of(0b10));
  EXPECT_TRUE(merged.admit);
  EXPECT_EQ(merged.best, hint_of(0b10));
}

TEST(MemoryManagerSpec, TheTopologyManagerRejectsByItsHints) {
  Node node(even_machine(2, 8));
  ASSERT_EQ(node.admit(guaranteed("a", {{"memory", "8Gi"}}), hint_of(0b10)), "");
  const PodSpec pod = guaranteed("b", {{"memory", "2Gi"}});
  EXPECT_FALSE(merge_with("single-numa-node", node, pod, hint_of(0b10)).admit);
  EXPECT_TRUE(merge_with("best-effort", node, pod, hint_of(0b10)).admit);
}

TEST(MemoryManagerSpec, TakesMemoryFromAMinimumNumberOfNodes) {
  Node node(even_machine(4, 8));  // node 0 has 7 GiB for pods
  for (const auto& [memory, nodes] : std::map<std::string, std::string>{
           {"7Gi", "0"}, {"8Gi", "1"}, {"16Gi", "1,2"}, {"23Gi", "0,1,2"}, {"31Gi", "0,1,2,3"}}) {
    ASSERT_EQ(node.admit(guaranteed("a", {{"memory", memory}})), "") << memory;
    EXPECT_EQ(node.manager.cpuset_mems(node.state, {PodUid("a"), "c"}), nodes) << memory;
    node.manager.remove_container(node.state, {PodUid("a"), "c"});
  }
}

TEST(MemoryManagerSpec, ReservedMemoryIsNotGivenToPods) {
  Node node(even_machine(1, 8));
  EXPECT_NE(node.admit(guaranteed("a", {{"memory", "8Gi"}})), "");
  EXPECT_EQ(node.admit(guaranteed("a", {{"memory", "7Gi"}})), "");
}

TEST(MemoryManagerSpec, ReservedMemoryMustEqualKubeAndSystemReservedAndHardEviction) {
  // kubeReserved 1Gi + systemReserved 500Mi + evictionHard 100Mi, as the node adds them.
  const Machine machine = even_machine(2, 8);
  Config config = static_config();
  config.reserved_memory = {{.numa_node = 0, .limits = {{"memory", "1Gi"}}},
                            {.numa_node = 1, .limits = {{"memory", "600Mi"}}}};
  EXPECT_TRUE(MemoryManager::make(machine, config, reservation_of("1624Mi")));
  EXPECT_FALSE(MemoryManager::make(machine, config, reservation_of("1524Mi")));
}

TEST(MemoryManagerSpec, ANodeServesEitherSingleRequestsOrOneGroup) {
  Node node(even_machine(4, 8));
  ASSERT_EQ(node.admit(guaranteed("a", {{"memory", "14Gi"}}), hint_of(0b0011)), "");
  const PodSpec pod = guaranteed("b", {{"memory", "1Gi"}});
  EXPECT_EQ(print(node.manager.container_hints(node.state, pod, pod.containers[0])),
            "2* 3* 0-1 2-3");
}

TEST(MemoryManagerSpec, PolicyNoneGivesNothing) {
  Node node(even_machine(2, 8), Config{}, {});
  const PodSpec pod = guaranteed("a", {{"memory", "2Gi"}});
  ASSERT_EQ(node.admit(pod), "");
  EXPECT_EQ(node.state, MemoryState{});
  EXPECT_TRUE(node.manager.container_hints(node.state, pod, pod.containers[0]).empty());
}

}  // namespace
}  // namespace pinfold::memory_test
