#include "pinfold/agent/desired.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node_samples.hpp"
#include "pinfold/agent/named_groups.hpp"

namespace pinfold::agent {
namespace {

using test::best_effort;
using test::guaranteed;
using test::half_a_cpu;
using test::pod;
using test::static_node;

AgentState admitted(const Node& node, const std::vector<PodSpec>& pods) {
  AgentState state;
  if (!node.cpu().start(state.node.cpu) || !node.memory().start(state.node.memory)) return state;
  for (const PodSpec& spec : pods) {
    Decision decision = decide(node, state.node, spec);
    if (auto* const yes = std::get_if<Admitted>(&decision)) state.node = std::move(yes->next);
  }
  return state;
}

CpuSet cpus(const enforce::Layout& layout, const enforce::GroupName& name) {
  const auto it = layout.find(name);
  return it == layout.end() ? CpuSet{} : it->second.cpus;
}

TEST(DesiredLayout, GivesEachContainerItsCpusAndThePodTheirUnion) {
  const Node node = static_node();
  const AgentState state =
      admitted(node, {pod("x", {guaranteed("a", 2)}), pod("s", {best_effort("c")})});
  const enforce::Layout layout = desired_layout(node, state, {});
  EXPECT_EQ(cpus(layout, {PodUid("x"), "a"}), (CpuSet{1, 2}));
  EXPECT_EQ(layout.at({PodUid("x"), "a"}).isolation, Isolation::kContainer);
  EXPECT_EQ(cpus(layout, {PodUid("x"), ""}), (CpuSet{1, 2}));
  EXPECT_EQ(cpus(layout, {PodUid("s"), "c"}), CpuSet::range(3, 7) | CpuSet{0});
  EXPECT_EQ(layout.at({PodUid("s"), "c"}).isolation, Isolation::kHost);
  EXPECT_EQ(cpus(layout, {PodUid("s"), ""}), cpus(layout, {PodUid("s"), "c"}));
}

TEST(DesiredLayout, SetsNoCpusetsUnderPolicyNone) {
  auto made = Node::make(test::two_sockets(), Config{});
  ASSERT_TRUE(made.has_value()) << made.error().error;
  const AgentState state = admitted(*made, {pod("x", {guaranteed("a", 2)})});
  for (const auto& [name, group] : desired_layout(*made, state, {})) {
    EXPECT_TRUE(group.cpus.empty()) << name << ": " << group;
    EXPECT_TRUE(group.mems.empty()) << name << ": " << group;
  }
}

/// The kubelet leaves such a container on its old CPUs, which are now exclusive to others.
TEST(DesiredLayout, PutsSharedContainersOnReservedCpusWhenThePoolIsUsedUp) {
  Config config;
  config.cpu_manager_policy_options = {{"strict-cpu-reservation", "true"}};
  const Node node = static_node(config);
  const AgentState state =
      admitted(node, {pod("s", {best_effort("c")}), pod("x", {guaranteed("a", 7)})});
  ASSERT_TRUE(state.node.cpu.default_set.empty());
  const enforce::Layout layout = desired_layout(node, state, {});
  EXPECT_EQ(cpus(layout, {PodUid("s"), "c"}), CpuSet{0});
  EXPECT_EQ(cpus(layout, {PodUid("x"), "a"}), CpuSet::range(1, 7));
}

TEST(DesiredLayout, DropsAnInitContainerOnceALaterContainerHasStarted) {
  const Node node = static_node();
  AgentState state = admitted(
      node, {pod("x", {guaranteed("init", 2, ContainerKind::kInit), guaranteed("main", 2)})});
  EXPECT_TRUE(desired_layout(node, state, {}).contains({PodUid("x"), "init"}));
  state.node.pods.edit_started(state.node.pods.begin()) = {"init"};
  EXPECT_TRUE(desired_layout(node, state, {}).contains({PodUid("x"), "init"}));
  state.node.pods.edit_started(state.node.pods.begin()) = {"init", "main"};
  EXPECT_FALSE(desired_layout(node, state, {}).contains({PodUid("x"), "init"}));
}

TEST(DesiredLayout, HasNoGroupForARemovedContainer) {
  const Node node = static_node();
  AgentState state = admitted(node, {pod("x", {best_effort("a"), best_effort("b")})});
  state.removed.insert({PodUid("x"), "a"});
  const enforce::Layout layout = desired_layout(node, state, {});
  EXPECT_FALSE(layout.contains({PodUid("x"), "a"}));
  EXPECT_TRUE(layout.contains({PodUid("x"), "b"}));
}

TEST(DesiredLayout, ConfinesStraysToTheSharedPool) {
  const Node node = static_node();
  const AgentState state = admitted(node, {pod("x", {guaranteed("a", 2)})});
  const CpuSet pool = shared_pool(node, state.node);
  const enforce::Layout layout = with_strays(make_desired(node, state, {}, {}), {},
                                             {{PodUid("x"), "old"}, {PodUid("gone"), "c"}});
  EXPECT_EQ(cpus(layout, {PodUid("x"), "old"}), pool);
  EXPECT_EQ(cpus(layout, {PodUid("x"), ""}), pool | CpuSet({1, 2}));
  EXPECT_EQ(cpus(layout, {PodUid("gone"), "c"}), pool);
  EXPECT_EQ(cpus(layout, {PodUid("gone"), ""}), pool);
}

TEST(DesiredLayout, LeavesContainersOfAHeldPodTheirCpus) {
  const Node node = static_node();
  AgentState state = admitted(node, {pod("x", {guaranteed("a", 2), half_a_cpu("b")})});
  state.node.held = {PodUid("x")};
  state.node.pods.clear();
  const CpuSet pool = shared_pool(node, state.node);
  const Desired desired = make_desired(node, state, {}, {});
  EXPECT_TRUE(desired.layout.empty()) << "no group is made for a held pod";
  const enforce::Layout layout = with_strays(desired, {}, {{PodUid("x"), "a"}, {PodUid("x"), "b"}});
  EXPECT_EQ(cpus(layout, {PodUid("x"), "a"}), CpuSet({1, 2}));
  EXPECT_EQ(cpus(layout, {PodUid("x"), "b"}), pool);
  EXPECT_EQ(cpus(layout, {PodUid("x"), ""}), pool | CpuSet({1, 2}));
}

TEST(NamedGroups, AreThoseBelowTheRootAndTheAdoptedOnes) {
  const Node node = static_node();
  AgentState state = admitted(node, {pod("x", {guaranteed("a", 2)}), pod("s", {best_effort("c")})});
  state.adopted[ContainerId{PodUid("s"), "c"}] = "/cg/kubepods/pods/c";
  const NamedGroups groups = named_groups(node, state, "/cg/pinfold");
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups.at("/cg/pinfold/podx/a").container, "a");
  EXPECT_EQ(groups.at("/cg/pinfold/podx").container, "") << "the pod's own";
  EXPECT_EQ(groups.at("/cg/pinfold/podx").pod.uid, PodUid("x"));
  EXPECT_EQ(groups.at("/cg/pinfold/pods").pod.uid, PodUid("s"));
  EXPECT_EQ(groups.at("/cg/kubepods/pods/c").container, "c");
}

}  // namespace
}  // namespace pinfold::agent
