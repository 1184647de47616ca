#include "memory_fixture.hpp"

namespace pinfold::memory_test {
namespace {

constexpr const char* kNoDefault =
    "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes "
    "with enough memory is available, which is unexpected";
constexpr const char* kNoExtension =
    "Allocate failed due to [memorymanager] failed to find NUMA nodes to extend the current "
    "topology hint, which is unexpected";

std::string hints_for(const Node& node, const PodSpec& pod, std::size_t container = 0) {
  return print(node.manager.container_hints(node.state, pod, pod.containers[container]));
}

PodSpec one(const std::string& uid, const std::string& memory) {
  return pod_of(uid, {container_of("c", {{"memory", memory}})});
}

TEST(MemoryHints, PreferTheFewestNodesByCapacity) {
  const Node node(even_machine(3, 8));  // NUMA node 0 has 7 GiB
  EXPECT_EQ(hints_for(node, one("a", "7Gi")), "0* 1* 2* 0-1 0,2 1-2 0-2");
  EXPECT_EQ(hints_for(node, one("a", "8Gi")), "1* 2* 0-1 0,2 1-2 0-2");
  EXPECT_EQ(hints_for(node, one("a", "9Gi")), "0-1* 0,2* 1-2* 0-2");
  EXPECT_EQ(hints_for(node, one("a", "23Gi")), "0-2*");
  EXPECT_EQ(hints_for(node, one("a", "24Gi")), "none");
}

TEST(MemoryHints, CapacityNotFreeMemoryDecidesWhatIsPreferred) {
  Node node(even_machine(3, 8));
  ASSERT_EQ(node.admit(one("a", "10Gi"), hint_of(0b011)), "");
  ASSERT_EQ(node.admit(one("b", "5Gi"), hint_of(0b100)), "");
  EXPECT_EQ(hints_for(node, one("c", "4Gi")), "0-1");
}

TEST(MemoryHints, OneListForAllResources) {
  const Node node(machine_of({{.id = 0, .gib = 8, .hugepages = {{"hugepages-1Gi", 0}}},
                              {.id = 1, .gib = 8, .hugepages = {{"hugepages-1Gi", 2 * kGi}}}}));
  const PodSpec pod =
      pod_of("a", {container_of("c", {{"memory", "1Gi"}, {"hugepages-1Gi", "1Gi"}})});
  const auto hints = node.manager.container_hints(node.state, pod, pod.containers[0]);
  EXPECT_EQ(print(hints, "memory"), "1* 0-1");
  EXPECT_EQ(print(hints, "hugepages-1Gi"), "1* 0-1");
}

TEST(MemoryHints, AreAbsentForOtherPods) {
  const Node node(even_machine(2, 8));
  PodSpec burstable = one("a", "1Gi");
  burstable.containers[0].resources.limits["memory"] = *Quantity::parse("2Gi");
  EXPECT_EQ(hints_for(node, burstable), "none");
  PodSpec pod_level = one("a", "1Gi");
  pod_level.resources = pod_level.containers[0].resources;
  EXPECT_EQ(hints_for(node, pod_level), "none");  // the gate PodLevelResourceManagers is off
}

TEST(MemoryHints, RepeatExistingAssignments) {
  Node node(even_machine(2, 8));
  ASSERT_EQ(node.admit(one("a", "2Gi"), hint_of(0b10)), "");
  EXPECT_EQ(hints_for(node, one("a", "2Gi")), "1*");
  EXPECT_EQ(hints_for(node, one("a", "3Gi")), "none");
}

TEST(MemoryHints, WideAnswersOnManyNodesAreRuns) {
  const Node node(even_machine(20, 8));
  const std::string hints = hints_for(node, one("a", "144Gi"));
  EXPECT_EQ(hints.substr(0, 21), "1-18* 2-19* 0-18 1-19");
}

TEST(MemoryAllocate, TakesTheLowestNodesOfTheAffinityFirst) {
  Node node(even_machine(2, 8));
  ASSERT_EQ(node.admit(one("a", "10Gi"), hint_of(0b11)), "");
  EXPECT_EQ(node.table(0).free, 0U);
  EXPECT_EQ(node.table(1).reserved, 3 * kGi);
  EXPECT_EQ(*node.state.assignments.find({PodUid("a"), "c"}),
            (std::vector<MemoryBlock>{{{0, 1}, "memory", 10 * kGi}}));
  EXPECT_EQ(node.manager.cpuset_mems(node.state, {PodUid("a"), "c"}), "0,1");
}

TEST(MemoryAllocate, ChoosesTheNarrowestNodesWithoutAnAffinity) {
  Node node(even_machine(4, 8));
  ASSERT_EQ(node.admit(one("a", "8Gi")), "");  // NUMA node 0 has only 7
  EXPECT_EQ(node.manager.cpuset_mems(node.state, {PodUid("a"), "c"}), "1");
  ASSERT_EQ(node.admit(one("b", "12Gi")), "");
  EXPECT_EQ(node.manager.cpuset_mems(node.state, {PodUid("b"), "c"}), "0,2");
  EXPECT_EQ(node.admit(one("c", "12Gi")), kNoDefault);
}

TEST(MemoryAllocate, APreferredAffinityWithoutNodesNeedsPreferredOnes) {
  Node node(even_machine(3, 8));
  ASSERT_EQ(node.admit(one("a", "10Gi"), hint_of(0b011)), "");
  ASSERT_EQ(node.admit(one("b", "5Gi"), hint_of(0b100)), "");
  EXPECT_EQ(node.admit(one("c", "4Gi"), {std::nullopt, true}),
            "Allocate failed due to [memorymanager] failed to find the default preferred hint, "
            "which is unexpected");
  EXPECT_EQ(node.admit(one("c", "4Gi"), {std::nullopt, false}), "");
}

TEST(MemoryAllocate, ExtendsAnAffinityThatIsTooSmall) {
  Node node(even_machine(3, 8));
  ASSERT_EQ(node.admit(one("a", "10Gi"), hint_of(0b010, false)), "");
  EXPECT_EQ(node.manager.cpuset_mems(node.state, {PodUid("a"), "c"}), "0,1");
  EXPECT_EQ(node.admit(one("b", "10Gi"), hint_of(0b100, false)), kNoExtension);
}

TEST(MemoryAllocate, ExtensionOfAPreferredAffinityMustBePreferred) {
  Node node(even_machine(3, 8));
  ASSERT_EQ(node.admit(one("a", "8Gi"), hint_of(0b100)), "");
  ASSERT_EQ(node.admit(one("b", "4Gi"), hint_of(0b010)), "");
  node.manager.remove_container(node.state, {PodUid("a"), "c"});
  EXPECT_EQ(node.admit(one("c", "8Gi"), hint_of(0b001)),
            "Allocate failed due to [memorymanager] failed to find the extended preferred hint, "
            "which is unexpected");
}

TEST(MemoryAllocate, KeepsSingleNodesAndGroupsApart) {
  Node node(even_machine(2, 8));
  ASSERT_EQ(node.admit(one("a", "1Gi"), hint_of(0b01)), "");
  EXPECT_EQ(node.admit(one("b", "8Gi"), hint_of(0b11, false)),
            "Allocate failed due to [memorymanager] preferred hint violates NUMA node allocation, "
            "which is unexpected");
}

TEST(MemoryAllocate, RejectsFractionsOfAByte) {
  Node node(even_machine(2, 8));
  EXPECT_EQ(
      node.admit(one("a", "1073741824500m")),
      "Allocate failed due to [memorymanager] failed to represent quantity as int64, which is "
      "unexpected");
}

TEST(MemoryAllocate, FreesAGroupWithItsLastAssignment) {
  Node node(even_machine(2, 8));
  const MemoryState before = node.state;
  ASSERT_EQ(node.admit(one("a", "10Gi")), "");
  ASSERT_EQ(node.admit(one("b", "2Gi"), hint_of(0b11, false)), "");
  node.manager.remove_container(node.state, {PodUid("a"), "c"});
  EXPECT_EQ(node.state.machine_state.at(0).cells, (std::vector<std::int32_t>{0, 1}));
  node.manager.remove_container(node.state, {PodUid("b"), "c"});
  node.manager.remove_container(node.state, {PodUid("b"), "unknown"});
  EXPECT_EQ(node.state, before);
}

TEST(MemoryAllocate, ExplainsItsChoice) {
  Node node(even_machine(2, 8));
  Trace trace;
  const PodSpec pod = one("a", "10Gi");
  ASSERT_TRUE(
      node.manager.allocate(node.state, pod, pod.containers[0], hint_of(0b01, false), &trace));
  ASSERT_EQ(trace.facts.size(), 1U);
  EXPECT_EQ(trace.facts[0].text,
            "takes 10Gi of memory from NUMA nodes 0,1: the affinity has too little and was "
            "extended");
  Node empty(even_machine(2, 8));
  const PodSpec small = one("b", "1Gi");
  ASSERT_TRUE(empty.manager.allocate(empty.state, small, small.containers[0], {}, &trace));
  EXPECT_EQ(trace.facts.back().text,
            "takes 1Gi of memory from NUMA node 0: no affinity is given, and no fewer or lower "
            "NUMA nodes have enough");
}

PodSpec with_init(const std::string& init, const std::string& app) {
  return pod_of("a", {container_of("i1", {{"memory", init}}, ContainerKind::kInit),
                      container_of("s1", {{"memory", "1Gi"}}, ContainerKind::kSidecar),
                      container_of("c1", {{"memory", app}})});
}

TEST(MemoryReuse, LaterContainersTakeOverFromInitContainers) {
  Node node(even_machine(1, 16));
  const PodSpec pod = with_init("6Gi", "4Gi");
  ASSERT_EQ(node.admit(pod), "");
  EXPECT_EQ(node.table(0).reserved, 6 * kGi);
  EXPECT_EQ(node.state.assignments.find({PodUid("a"), "i1"})->front().size, 1 * kGi);
  node.manager.container_started(node.state, pod, "i1");
  EXPECT_NE(node.state.assignments.find({PodUid("a"), "i1"}), nullptr);
  node.manager.container_started(node.state, pod, "c1");
  EXPECT_EQ(node.state.assignments.find({PodUid("a"), "i1"}), nullptr);
  EXPECT_EQ(node.table(0).reserved, 5 * kGi);
}

TEST(MemoryReuse, ShowsInTheHints) {
  Node node(even_machine(2, 8));
  const PodSpec pod = with_init("8Gi", "7Gi");
  ASSERT_TRUE(node.manager.allocate(node.state, pod, pod.containers[0], hint_of(0b10), nullptr));
  EXPECT_EQ(hints_for(node, pod, 2), "0* 1*");
  EXPECT_EQ(hints_for(node, one("b", "8Gi")), "none");  // other pods get no hints
  ASSERT_EQ(node.admit(one("b", "1Gi"), hint_of(0b01)), "");
  EXPECT_EQ(hints_for(node, pod, 2), "none") << "only until another pod is admitted";
}

/// After a restart a kubelet admits running pods again, but no longer knows what is reusable.
TEST(MemoryReuse, GoesOnAfterARestart) {
  Node node(even_machine(1, 16));
  const PodSpec pod = with_init("6Gi", "4Gi");
  ASSERT_TRUE(node.manager.allocate(node.state, pod, pod.containers[0], {}, nullptr));
  node.state = MemoryState{node.state.checkpoint()};
  ASSERT_EQ(node.admit(pod), "");
  EXPECT_EQ(node.table(0).reserved, 6 * kGi);
}

// Each of these tests states how the profile `fixed` differs from the kubelet.

TEST(MemoryQuirks, SingleNodeOverwritesGroup) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Node node(even_machine(2, 8), static_config(profile));
    ASSERT_EQ(node.admit(one("a", "9Gi"), hint_of(0b11)), "");
    ASSERT_EQ(node.admit(one("b", "1Gi"), hint_of(0b10, false)), "");
    const bool fixed = profile == Profile::kFixed;
    EXPECT_EQ(node.manager.cpuset_mems(node.state, {PodUid("b"), "c"}), fixed ? "0,1" : "1");
    EXPECT_EQ(node.state.machine_state.at(1).cells.size(), fixed ? 2U : 1U);
  }
}

TEST(MemoryQuirks, MemorySpelledWithFractionRejected) {
  for (const char* const text : {"1.5Gi", "1500000000000m", "1.5e9"}) {
    Node exact(even_machine(2, 8), static_config(Profile::kKubelet136));
    Node fixed(even_machine(2, 8));
    const bool is_rejected = std::string_view(text) != "1.5e9";
    EXPECT_EQ(exact.admit(one("a", text)).empty(), !is_rejected) << text;
    EXPECT_EQ(fixed.admit(one("a", text)), "") << text;
  }
}

TEST(MemoryQuirks, FinishedInitContainersAllocateAgain) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Node node(even_machine(1, 16), static_config(profile));
    const PodSpec pod = with_init("6Gi", "4Gi");
    ASSERT_EQ(node.admit(pod), "");
    for (const Container& c : pod.containers) {
      node.manager.container_started(node.state, pod, c.name);
    }
    ASSERT_TRUE(node.manager.start(node.state));  // a restart
    EXPECT_EQ(hints_for(node, pod, 0), profile == Profile::kFixed ? "none" : "0*");
    ASSERT_EQ(node.admit(pod), "");
    EXPECT_EQ(node.table(0).reserved, (profile == Profile::kFixed ? 5 : 11) * kGi);
  }
}

TEST(MemoryQuirks, ReusableMemoryOutlivesPod) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Node node(even_machine(1, 16), static_config(profile));
    const PodSpec pod = with_init("6Gi", "1Gi");
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(node.admit(pod), "");
      const bool exact = round == 0 || profile == Profile::kFixed;
      EXPECT_EQ(node.table(0).reserved, (exact ? 6 : 2) * kGi);
      for (const Container& c : pod.containers) {
        node.manager.remove_container(node.state, {PodUid("a"), c.name});
      }
    }
  }
}

TEST(MemoryDifference, ANodeWithoutAHugePageSizeHasNoneOfIt) {
  Node node(machine_of({{.id = 0, .gib = 8, .hugepages = {}},
                        {.id = 1, .gib = 8, .hugepages = {{"hugepages-1Gi", 2 * kGi}}}}));
  const PodSpec pod =
      pod_of("a", {container_of("c", {{"memory", "12Gi"}, {"hugepages-1Gi", "1Gi"}})});
  EXPECT_EQ(hints_for(node, pod), "0-1*");
  ASSERT_EQ(node.admit(pod), "");
  EXPECT_EQ(node.table(1, "hugepages-1Gi").reserved, kGi);
  EXPECT_TRUE(node.manager.start(node.state));  // and a restart accepts it
  const PodSpec other =
      pod_of("b", {container_of("c", {{"memory", "1Gi"}, {"hugepages-2Mi", "2Mi"}})});
  EXPECT_EQ(node.admit(other), kNoDefault);
}

}  // namespace
}  // namespace pinfold::memory_test
