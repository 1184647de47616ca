#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <variant>

#include "fixture.hpp"
#include "node_fixture.hpp"
#include "pinfold/nri_pods/plan.hpp"

/// Pods admitted container by container on a node.
namespace pinfold::nri {
namespace {

using test::limited;
using test::pod_with;
using testing::ElementsAre;
using testing::IsEmpty;

Node node_with(const std::string& scope) {
  return Node::make(pinfold::test::machine_of({}),
                    pinfold::test::aligning_config("restricted", scope))
      .value();
}

/// Returns the demands after each of the pod's containers arrives.
std::vector<Demand> grow(const Node& node, const PodSpec& spec) {
  const Premises premises = make_premises(node, PodLevelUse::kAnnotatedPods);
  const auto containers = test::containers_of(spec);
  std::vector<Demand> steps;
  for (std::size_t count = 1; count <= containers.size(); ++count) {
    const auto seen = recover(test::sandbox_of(spec), std::span(containers).first(count), premises);
    steps.push_back(demand(seen.value(), premises));
  }
  return steps;
}

NodeState admit(const Node& node, NodeState state, const PodSpec& spec) {
  return std::get<Admitted>(decide(node, std::move(state), spec)).next;
}

TEST(NriPodGrowth, InContainerScopeItIsTheKubeletsDecision) {
  const Node node = node_with("container");
  const PodSpec other = pod_with({limited("o", "3", "1Gi")});
  PodSpec spec = pod_with({limited("a", "2", "1Gi"), limited("b", "500m", "1Gi"),
                           limited("c", "6", "1Gi"), limited("d", "1", "1Gi")});
  spec.uid = PodUid("grown");
  const NodeState before = admit(node, empty_state(node), other);
  NodeState grown = before;
  for (const Demand& step : grow(node, spec)) grown = admit(node, std::move(grown), step.pod);
  EXPECT_EQ(grown.cpu.assignments, admit(node, before, spec).cpu.assignments);
  EXPECT_EQ(grown.pods, admit(node, before, spec).pods);
}

TEST(NriPodGrowth, ExclusiveContainersAreThoseThatTheNodeAssigns) {
  const Node node = node_with("container");
  const PodSpec spec = pod_with({limited("a", "2", "1Gi"), limited("b", "500m", "1Gi")});
  for (const Demand& step : grow(node, spec)) {
    const NodeState state = admit(node, empty_state(node), step.pod);
    std::vector<std::string> assigned;
    for (const ContainerId& id : containers_with_assignments(state, spec.uid)) {
      assigned.push_back(id.name);
    }
    EXPECT_EQ(step.exclusive, assigned);
  }
}

TEST(NriPodGrowth, InPodScopeThePodIsDecidedWithItsLastContainer) {
  const Node node = node_with("pod");
  const PodSpec spec =
      pod_with({limited("a", "2", "1Gi"), limited("b", "1", "1Gi"), limited("c", "1", "1Gi")});
  const auto steps = grow(node, spec);
  EXPECT_THAT(steps[0].exclusive, IsEmpty());
  EXPECT_THAT(steps[1].exclusive, IsEmpty());
  EXPECT_THAT(steps[1].why_shared, testing::HasSubstr("topology scope pod"));
  EXPECT_THAT(steps[2].exclusive, ElementsAre("a", "b", "c"));
  NodeState grown = empty_state(node);
  for (const Demand& step : steps) grown = admit(node, std::move(grown), step.pod);
  EXPECT_EQ(grown.cpu.assignments, admit(node, empty_state(node), spec).cpu.assignments);
}

TEST(NriPodGrowth, APodThatDoesNotFitKeepsWhatItHas) {
  const Node node = node_with("container");
  const PodSpec spec =
      pod_with({limited("a", "2", "1Gi"), limited("b", "9", "1Gi"), limited("c", "9", "1Gi")});
  const auto steps = grow(node, spec);
  const NodeState one = admit(node, empty_state(node), steps[0].pod);
  const auto decision = decide(node, one, steps[2].pod);
  ASSERT_TRUE(std::holds_alternative<Rejected>(decision));
  EXPECT_EQ(std::get<Rejected>(decision).next.cpu, one.cpu);
}

/// With the static memory manager.
TEST(NriPodGrowth, MemoryIsTheKubeletsDecisionToo) {
  const Node node =
      Node::make(pinfold::test::machine_of({}),
                 pinfold::test::with_memory_manager(pinfold::test::aligning_config("restricted")))
          .value();
  const PodSpec spec =
      pod_with({limited("a", "2", "3Gi"), limited("b", "500m", "2Gi"), limited("c", "6", "9Gi")});
  NodeState grown = empty_state(node);
  for (const Demand& step : grow(node, spec)) grown = admit(node, std::move(grown), step.pod);
  const NodeState whole = admit(node, empty_state(node), spec);
  EXPECT_EQ(containers_with_assignments(grown, spec.uid).size(), 3U);
  EXPECT_EQ(grown.memory.assignments, whole.memory.assignments);
  EXPECT_EQ(grown.memory.machine_state, whole.memory.machine_state);
  EXPECT_EQ(grown.cpu.assignments, whole.cpu.assignments);
}

/// Why check_node() refuses a kubelet's profile.
TEST(NriPodGrowth, ARejectionInAKubeletsProfileEndsThePod) {
  Config config = pinfold::test::aligning_config("restricted");
  EXPECT_TRUE(check_node(Node::make(pinfold::test::machine_of({}), config).value()));
  config.profile = Profile::kKubelet136;
  const Node node = Node::make(pinfold::test::machine_of({}), config).value();
  const auto steps = grow(node, pod_with({limited("a", "2", "1Gi"), limited("b", "20", "1Gi")}));
  const auto decision = decide(node, admit(node, empty_state(node), steps[0].pod), steps[1].pod);
  EXPECT_THAT(std::get<Rejected>(decision).next.pods, IsEmpty());
  EXPECT_EQ(check_node(node).error().message,
            "profile 'kubelet-1.36': a rejection would end a pod whose containers run: "
            "expected the profile 'fixed'");
}

TEST(NriPremises, ComeFromTheNode) {
  const Premises pod_scope = make_premises(node_with("pod"), PodLevelUse::kAnyPod);
  EXPECT_TRUE(pod_scope.pod_scope);
  EXPECT_FALSE(pod_scope.huge_pages);
  EXPECT_EQ(pod_scope.memory, std::uint64_t{32} << 30U);
  EXPECT_FALSE(make_premises(node_with("container"), PodLevelUse::kAnyPod).pod_scope);
}

/// Every x86 kernel has the sizes 2Mi and 1Gi, mostly without pages.
TEST(NriPremises, CountHugePagesAndNotTheirSizes) {
  Config config = pinfold::test::aligning_config("restricted");
  config.memory_manager_policy = "Static";
  config.system_reserved = {{"memory", "64Mi"}};
  config.eviction_hard.emplace()["memory.available"] = "64Mi";
  config.reserved_memory = {{0, {{"memory", "128Mi"}}}};
  const auto premises_with = [&](std::uint64_t bytes, const std::string& policy) {
    MachineDescription machine = pinfold::test::machine_of({}).description();
    for (NumaNode& numa : machine.numa_nodes) {
      numa.hugepages = {{"hugepages-2Mi", bytes}, {"hugepages-1Gi", 0}};
    }
    Config with = config;
    with.memory_manager_policy = policy;
    if (policy == "None") with.reserved_memory.clear();
    const Node node = Node::make(Machine::make(std::move(machine)).value(), with).value();
    return make_premises(node, PodLevelUse::kAnnotatedPods);
  };
  EXPECT_FALSE(premises_with(0, "Static").huge_pages);
  EXPECT_TRUE(premises_with(4U << 20, "Static").huge_pages);
  EXPECT_FALSE(premises_with(4U << 20, "None").huge_pages);
}

}  // namespace
}  // namespace pinfold::nri
