// The judge's verdicts on containers and pods.

#include "checked_plan.hpp"
#include "survey.hpp"

namespace pinfold::test {
namespace {

using planning::Spot;

/// A pod of two containers with two CPUs each. `last` returns the CPUs of the second one; "" if the
/// pod is rejected.
TEST(JudgedPod, IsRejectedWithAnyOfItsContainers) {
  const Node node = node_of(machine_of({}), aligning_config("single-numa-node"));
  const NodeState state = state_with(node, {pair_of("a", 2, 2)});
  planning::Judge judge(node, state);
  const planning::PodCase pod = planning::survey(node, state, state.pods[0], judge);
  const auto last = [&](const CpuSet& x, const CpuSet& y) -> std::string {
    const Decision decision = judge.about(pod, {{x, {}}, {y, {}}});
    const auto* const admitted = std::get_if<Admitted>(&decision);
    if (admitted == nullptr) return "";
    return admitted->next.cpu.assignments.find(id_of("a/y"))->to_string();
  };
  EXPECT_EQ(last({3, 4}, {5, 6}), "5-6");
  EXPECT_EQ(last({3, 8}, {5, 6}), "");
  EXPECT_EQ(last({3, 4}, {5, 8}), "");
  const planning::PodCase nothing = [&] {
    planning::PodCase without = pod;
    without.units.clear();
    return without;
  }();
  EXPECT_TRUE(std::holds_alternative<Admitted>(judge.about(nothing, {})));
}

/// Amounts that fit one NUMA node must not be on two, even if they are small.
TEST(JudgedMemory, IsNotOnMoreNumaNodesThanItNeeds) {
  const Node node = node_of(machine_of({}), with_memory_manager(aligning_config("restricted")));
  for (const char* const amount : {"1Gi", "2"}) {
    const NodeState state = state_with(node, {pod("a", {{"cpu", "1"}, {"memory", amount}})});
    planning::Judge judge(node, state);
    const planning::PodCase pod = planning::survey(node, state, state.pods[0], judge);
    EXPECT_TRUE(judge.allows(pod, pod.units[0], {{1}, NumaMask::of(0)})) << amount;
    EXPECT_FALSE(judge.allows(pod, pod.units[0], {{1}, NumaMask::of(0) | NumaMask::of(1)}))
        << amount;
  }
}

TEST(JudgedPod, IsPlacedAsAWhole) {
  const Node node = node_of(
      machine_of({}), with_memory_manager(with_whole_pods(aligning_config("restricted", "pod"))));
  const NodeState state = state_with(node, {whole("w", 2, 3)});
  planning::Judge judge(node, state);
  const planning::PodCase pod = planning::survey(node, state, state.pods[0], judge);
  ASSERT_TRUE(pod.is_whole);
  const auto spot = judge.natural(pod, pod.units[0], {{7, 9, 10}, empty_state(node).memory, {}});
  EXPECT_EQ(spot, (Spot{{9, 10}, NumaMask::of(1)}));
}

}  // namespace
}  // namespace pinfold::test
