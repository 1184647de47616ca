// The moves after which a node admits a pod.

#include "checked_plan.hpp"

namespace pinfold::test {
namespace {

PodSpec wanted(const std::string& uid, int cpus) {
  return pod(uid, {{"cpu", std::to_string(cpus)}, {"memory", "1Gi"}});
}

/// Returns a state in which each of two NUMA nodes has 3 of 8 CPUs free.
NodeState fragmented(const Node& node) {
  NodeState state =
      state_with(node, {wanted("a", 2), wanted("b", 2), wanted("c", 5), wanted("d", 3)});
  state = remove_pod(node, std::move(state), PodUid("d"));
  return state;
}

TEST(Defragment, MovesTheFewestContainersToMakeRoom) {
  const Node node = node_of(machine_of({}), aligning_config("single-numa-node"));
  const NodeState state = fragmented(node);
  const PodSpec pod = wanted("new", 5);
  ASSERT_TRUE(std::holds_alternative<Rejected>(decide(node, state, pod)));
  const auto plan = plan_defragmentation(node, state, pod);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->possible);
  EXPECT_TRUE(plan->optimal);
  EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 2, 0}));
  ASSERT_EQ(plan->moves.size(), 1U);
  EXPECT_EQ(plan->moves.front().why, "other containers need its resources");
  EXPECT_EQ(plan->rejection->reason, kAffinityError);
  EXPECT_TRUE(std::holds_alternative<Admitted>(decide(node, plan->next, pod)));
  EXPECT_EQ(start_error(node, plan->next), "");
  EXPECT_FALSE(plan->next.affinity.contains(plan->moves.front().id));
  EXPECT_TRUE(plan->next.affinity.contains(ContainerId{PodUid("c"), "c"}));
}

/// A plan describes containers by comparing the two states.
TEST(Defragment, ComparedStatesSayTheSame) {
  const Node node =
      node_of(machine_of({}), with_memory_manager(aligning_config("single-numa-node")));
  const NodeState state = fragmented(node);
  const auto plan = plan_defragmentation(node, state, wanted("new", 5));
  ASSERT_TRUE(plan && plan->possible);
  EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 2, std::uint64_t{1} << 30U}));
  auto compared = compare_states(state, plan->next);
  EXPECT_EQ(compared.size(), 3U);
  EXPECT_EQ(cost_of(compared), plan->cost);
  std::erase_if(compared, [](const auto& one) { return one.change == Change::kKept; });
  ASSERT_EQ(compared.size(), 1U);
  EXPECT_EQ(compared.front().memory_before.front().numa_affinity, std::vector<std::int32_t>{0});
  EXPECT_EQ(compared.front().memory_after.front().numa_affinity, std::vector<std::int32_t>{1});
  compared.front().why = plan->moves.front().why;
  EXPECT_EQ(compared, plan->moves);

  const auto back = compare_states(plan->next, state);
  EXPECT_EQ(cost_of(back), plan->cost) << "the bytes go back too";
  const auto gone = compare_states(state, remove_pod(node, state, PodUid("a")));
  EXPECT_EQ(cost_of(gone), (PlanCost{1, 0, 0, 0, 0}));
}

TEST(Defragment, LooksAtTheRequestsOfAllPodsIfAsked) {
  const Node node = node_of(machine_of({}), aligning_config("single-numa-node"));
  NodeState state = fragmented(node);
  PodSpec shared = wanted("shared", 3);
  shared.containers.front().resources.limits.clear();
  state = std::get<Admitted>(decide(node, std::move(state), shared)).next;
  PlanOptions options;
  EXPECT_TRUE(plan_defragmentation(node, state, wanted("new", 5), options)->possible);
  options.checks = AdmissionChecks::kManagersAndRequests;
  const auto plan = plan_defragmentation(node, state, wanted("new", 5), options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->possible);
  EXPECT_TRUE(plan->optimal);
  EXPECT_EQ(plan->rejection->reason, kAffinityError);
  EXPECT_EQ(plan->limit->reason, "OutOfcpu");
}

TEST(Defragment, MovesNothingForAPodThatFits) {
  const Node node = node_of(machine_of({}), aligning_config("single-numa-node"));
  const NodeState state = fragmented(node);
  const auto plan = plan_defragmentation(node, state, wanted("new", 3));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->possible);
  EXPECT_TRUE(plan->moves.empty());
  EXPECT_EQ(plan->next, state);
}

TEST(Defragment, SaysWhatIsImpossible) {
  const Node node = node_of(machine_of({}), aligning_config("single-numa-node"));
  const NodeState state = fragmented(node);
  const auto too_wide = plan_defragmentation(node, state, wanted("new", 9));
  ASSERT_TRUE(too_wide) << too_wide.error().message;
  EXPECT_FALSE(too_wide->possible);
  EXPECT_TRUE(too_wide->optimal);
  EXPECT_EQ(too_wide->rejection->reason, kAffinityError);
  EXPECT_EQ(too_wide->limit->reason, kAffinityError) << "on an empty node too";
  const auto too_many = plan_defragmentation(node, state, wanted("new", 7));
  ASSERT_TRUE(too_many) << too_many.error().message;
  EXPECT_FALSE(too_many->possible);
  EXPECT_TRUE(too_many->optimal);
  EXPECT_FALSE(too_many->limit);
  EXPECT_EQ(too_many->next, state);
}

PodSpec two_containers(const std::string& uid, const std::string& memory) {
  return pod_of(uid, {container("a", {{"cpu", "1"}, {"memory", memory}}),
                      container("b", {{"cpu", "1"}, {"memory", memory}})});
}

/// Two NUMA nodes with 7 and 8 GiB for pods, and no CPU manager.
Node memory_node() {
  Config config = with_memory_manager(aligning_config("single-numa-node", "pod"));
  config.cpu_manager_policy = "none";
  return node_of(machine_of({.numa = 2, .cpus = 4, .gib = 8}), config);
}

PodSpec memory_pod(const std::string& uid, const std::string& memory) {
  return pod(uid, {{"cpu", "1"}, {"memory", memory}});
}

/// If no NUMA node has room for the pod, and other pods leave no two of them together, a kubelet
/// has no hint for its memory and admits it container by container.
TEST(Defragment, MovesTheLeastMemoryForAPodThatGoesToTwoNumaNodes) {
  const Node node = memory_node();
  const NodeState state =
      state_with(node, {memory_pod("a", "1Gi"), memory_pod("b", "4Gi"), memory_pod("c", "3Gi")});
  const PodSpec pod = two_containers("new", "3Gi");
  const auto plan = plan_defragmentation(node, state, pod);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->possible);
  EXPECT_TRUE(plan->optimal);
  EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 0, std::uint64_t{1} << 30U}));
  EXPECT_TRUE(std::holds_alternative<Admitted>(decide(node, plan->next, pod)));
}

/// Even an empty node may reject such a pod.
TEST(Defragment, MakesRoomForAPodThatAnEmptyNodeRejects) {
  const Node node = memory_node();
  const PodSpec pod = two_containers("new", "5Gi");
  ASSERT_TRUE(std::holds_alternative<Rejected>(decide(node, empty_state(node), pod)));
  const NodeState state = state_with(node, {memory_pod("a", "1Gi"), memory_pod("b", "3Gi")});
  ASSERT_TRUE(std::holds_alternative<Rejected>(decide(node, state, pod)));
  const auto plan = plan_defragmentation(node, state, pod);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->possible);
  EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 0, std::uint64_t{3} << 30U}));
  EXPECT_TRUE(std::holds_alternative<Admitted>(decide(node, plan->next, pod)));
}

TEST(Defragment, SaysThatItHasNotSearchedForLong) {
  const Node node = node_of(machine_of({}), aligning_config("single-numa-node"));
  const NodeState state = fragmented(node);
  const auto none = plan_defragmentation(node, state, wanted("new", 5), {.steps = 0});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(none->possible);
  EXPECT_FALSE(none->optimal);
  EXPECT_FALSE(none->limit);
  EXPECT_EQ(none->next, state);
}

/// The search over all pods runs out of steps, the search over single pods does not.
TEST(Defragment, ASingleMoveIsFoundInFewSteps) {
  const Node node = node_of(machine_of({}), aligning_config("single-numa-node"));
  const PodSpec pod = wanted("new", 5);
  const auto plan = plan_defragmentation(node, fragmented(node), pod, {.steps = 10});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->possible);
  EXPECT_FALSE(plan->optimal);
  ASSERT_EQ(plan->moves.size(), 1U);
  EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 2, 0}));
  EXPECT_EQ(plan->moves.front().id.pod, PodUid("a"));
  EXPECT_EQ(overlap(node, plan->next), "");
  EXPECT_EQ(start_error(node, plan->next), "");
  EXPECT_TRUE(std::holds_alternative<Admitted>(decide(node, plan->next, pod)));
}

/// 'new' needs two NUMA nodes together: the empty one, and one that a single move empties.
TEST(Defragment, ASearchThatEndsEarlyLeavesNoMoveThatIsNotNeeded) {
  const Node node = node_of(machine_of({.numa = 4, .cpus = 8, .gib = 32}),
                            with_memory_manager(aligning_config("best-effort")));
  const NodeState state =
      state_with(node, {sized("one", 3, 10), sized("two", 7, 20), sized("three", 7, 8)});
  const PodSpec pod = sized("new", 4, 50);
  ASSERT_TRUE(std::holds_alternative<Rejected>(decide(node, state, pod)));
  std::size_t found = 0;
  for (const std::size_t steps : {100U, 1000U, 2000U, 5000U, 20000U}) {
    const auto plan = plan_defragmentation(node, state, pod, {.steps = steps});
    ASSERT_TRUE(plan) << plan.error().message;
    if (!plan->possible) continue;
    ++found;
    ASSERT_EQ(plan->moves.size(), 1U) << steps << " steps";
    EXPECT_EQ(plan->cost.containers_moved, 1U);
    EXPECT_EQ(overlap(node, plan->next), "");
    EXPECT_EQ(start_error(node, plan->next), "");
    EXPECT_TRUE(std::holds_alternative<Admitted>(decide(node, plan->next, pod)));
  }
  EXPECT_GT(found, 0U);
}

/// A container that does not move is not judged again: 'wide' would be rejected now.
TEST(Defragment, KeepsWhatTheRulesWouldNotAdmitAgain) {
  const Node node = node_of(machine_of({}), aligning_config("single-numa-node"));
  NodeState state = fragmented(node);
  state = std::get<Admitted>(decide(node, std::move(state), wanted("wide", 2))).next;
  const CpuSet had = *state.cpu.assignments.find({PodUid("wide"), "c"});
  state.cpu.default_set |= had;
  state.cpu.assignments[{PodUid("wide"), "c"}] = {7, 15};
  state.cpu.default_set -= {7, 15};
  const auto plan = plan_defragmentation(node, state, wanted("new", 4));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->possible);
  EXPECT_TRUE(plan->optimal);
  EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 2, 0}));
  EXPECT_EQ(plan->next.cpu.assignments.find({PodUid("wide"), "c"})->to_string(), "7,15");
}

/// 'big' and 'pair' are against the rules and stay: the node would not admit them again. 'a' could
/// also make room, with more CPUs than 'b'.
TEST(Defragment, KeepsPodsThatTheNodeWouldReject) {
  const Machine machine = machine_of({.numa = 2, .cpus = 16, .gib = 32});
  const Node from = node_of(machine, aligning_config("none"));
  const NodeState state = with_cpus(
      from,
      state_with(from, {wanted("big", 17), pair_of("pair", 1, 1), wanted("a", 3), wanted("b", 2)}),
      {{"big", CpuSet::parse("1-8,16-24").value()},
       {"pair/x", {15}},
       {"pair/y", {25}},
       {"a", {9, 10, 11}},
       {"b", {26, 27}}});
  const Node node = node_of(machine, aligning_config("single-numa-node", "pod"));
  const auto plan = plan_defragmentation(node, state, wanted("new", 6));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->possible);
  EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 2, 0}));
}

/// The pod must be on NUMA node 0, where its device is. The pods of the other NUMA nodes can move
/// in many ways, none of which helps.
TEST(Defragment, FindsRoomAmongManyContainers) {
  const Node node = node_of(machine_of({.numa = 4, .cpus = 16, .devices = {{kNic, {1, 0, 0, 0}}}}),
                            aligning_config("single-numa-node"));
  std::vector<PodSpec> pods;
  for (int number = 1; number <= 7; ++number) {
    pods.push_back(wanted("small-" + std::to_string(number), 2));
  }
  for (int number = 1; number <= 9; ++number) {
    pods.push_back(wanted("large-" + std::to_string(number), 4));
  }
  const auto plan = plan_defragmentation(
      node, state_with(node, pods), pod("new", {{"cpu", "3"}, {"memory", "1Gi"}, {kNic, "1"}}));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->possible);
  EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 2, 0}));
}

TEST(Defragment, SaysThatADeviceIsInUse) {
  const Node node =
      node_of(machine_of({.devices = {{kNic, {1, 0}}}}), aligning_config("single-numa-node"));
  const Amounts amounts = {{"cpu", "2"}, {"memory", "1Gi"}, {kNic, "1"}};
  const auto plan =
      plan_defragmentation(node, state_with(node, {pod("a", amounts)}), pod("new", amounts));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->possible);
  EXPECT_TRUE(plan->optimal);
  EXPECT_TRUE(plan->limit) << "devices do not move";
}

TEST(Defragment, RefusesAPodThatTheNodeRuns) {
  const Node node = node_of(machine_of({}), aligning_config("none"));
  const NodeState state = state_with(node, {wanted("a", 2)});
  const auto plan = plan_defragmentation(node, state, wanted("a", 2));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pinfold::test
