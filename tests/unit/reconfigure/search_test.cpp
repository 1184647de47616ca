// The quality of a search with few steps, and of a complete one.

#include "search.hpp"

#include "checked_plan.hpp"
#include "survey.hpp"

namespace pinfold::test {
namespace {

/// The cost of plans that must be known to be optimal without a search.
class KnownAtOnce : public testing::Test {
 protected:
  static void expect(const PlanCost& cost, const Node& from, const NodeState& state, const Node& to,
                     bool evict = false) {
    for (const std::size_t steps : {std::size_t{0}, std::size_t{1000}}) {
      const auto plan = checked_plan(from, state, to, {.evict = evict, .steps = steps});
      EXPECT_EQ(plan.cost, cost) << describe(plan);
      EXPECT_TRUE(plan.optimal) << steps << " steps";
    }
  }
};

TEST_F(KnownAtOnce, APodIsAgainstTheRulesAndAnotherMoves) {
  const Config lax = aligning_config("none");
  const Node from = node_of(smt_machine(), lax);
  // The first free core of NUMA node 0 belongs partly to 'odd', which stays.
  const NodeState state = with_cpus(from, state_with(from, {sized("odd", 3), sized("b", 2)}),
                                    {{"odd", {1, 2, 9}}, {"b", {3, 11}}});
  const Node to = node_of(smt_machine(), with_reserved(of_whole_cores(lax), "0,3,11"));
  expect({0, 1, 1, 2, 0}, from, state, to);
  expect({1, 0, 1, 2, 0}, from, state, to, true);
  const Node fewer = node_of(smt_machine(), with_reserved(of_whole_cores(lax), "0,2-3,11"));
  expect({1, 0, 1, 2, 0}, from, state, fewer);
}

TEST_F(KnownAtOnce, TheOnlyCpuOfAContainerIsLost) {
  const Node from = node_of(machine_of({}), aligning_config("none"));
  const Node to = node_of(machine_of({}), with_reserved(aligning_config("none"), "0-1"));
  expect({0, 0, 1, 1, 0}, from, state_with(from, {sized("a", 1), sized("b", 2)}), to);
}

TEST_F(KnownAtOnce, MemoryStaysWithoutACpuManager) {
  const Config config = with_memory_manager(aligning_config("restricted"));
  const Node from = node_of(machine_of({}), config);
  const Node to = node_of(machine_of({}), without_cpu_manager(config));
  const NodeState state = state_with(from, {sized("a", 7), sized("b", 2)});
  expect({}, from, state, to);
  const auto plan = checked_plan(from, state, to);
  EXPECT_EQ(planned(plan, "b").cpus_after, std::nullopt);
  EXPECT_EQ(planned(plan, "b").memory_after, planned(plan, "b").memory_before);
  // Another topology policy, still without a CPU manager.
  Config other = without_cpu_manager(config);
  other.topology_manager_policy = "single-numa-node";
  expect({}, to, plan.next, node_of(machine_of({}), other));
}

TEST_F(KnownAtOnce, ContainersThatMustBeTogetherAre) {
  const Config config = aligning_config("single-numa-node", "pod");
  const Node from = node_of(machine_of({}), config);
  const NodeState state = state_with(from, {pair_of("a", 2, 2)});
  const Node to = node_of(machine_of({}), with_reserved(config, "7"));
  expect({}, from, state, to);
  const Node fewer = node_of(machine_of({}), with_reserved(config, "0-1,3"));
  expect({0, 0, 2, 2, 0}, from, state, fewer);
}

/// A pod is not judged again while nothing changes: quirks and earlier plans may allow more than
/// the rules do.
TEST_F(KnownAtOnce, NothingMovesWhileNothingChanges) {
  const Node together = node_of(machine_of({}), aligning_config("single-numa-node", "pod"));
  expect({}, together,
         with_cpus(together, state_with(together, {pair_of("a", 2, 2), sized("b", 2)}),
                   {{"a/x", {1, 2}}, {"a/y", {8, 9}}, {"b", {3, 10}}}),
         together);
  const Node lax = node_of(smt_machine(), aligning_config("none"));
  const Node cores = node_of(smt_machine(), of_whole_cores(aligning_config("none")));
  expect({}, cores, state_with(lax, {sized("odd", 3), sized("b", 2)}), cores);
}

/// Returns the cost of the first plan.
PlanCost first_cost(const Node& from, const NodeState& state, const Node& to) {
  return checked_plan(from, state, to, {.steps = 0}).cost;
}

TEST(FirstPlan, PlacesTheLargestFirstOfThosePodsThatMustMove) {
  const Node from = node_of(machine_of({}), with_reserved(aligning_config("none"), "1"));
  const NodeState state =
      with_cpus(from, state_with(from, {sized("a", 1), sized("b", 7), sized("c", 7)}),
                {{"a", {0}}, {"b", {2, 3, 4, 8, 9, 10, 11}}, {"c", {5, 6, 7, 12, 13, 14, 15}}});
  const Node to = node_of(machine_of({}), aligning_config("single-numa-node"));
  EXPECT_EQ(first_cost(from, state, to), (PlanCost{0, 0, 3, 8, 0}));
}

/// 'a' needs another CPU on the NUMA node of its device, where 'b' has all others.
TEST(FirstPlan, MovesAPodThatIsInTheWay) {
  const Machine machine = machine_of({.devices = {{kNic, {1, 0}}}});
  const Config config = aligning_config("single-numa-node");
  const Node from = node_of(machine, with_reserved(config, "15"));
  const PodSpec near = pod("a", {{"cpu", "2"}, {"memory", "1Gi"}, {kNic, "1"}});
  const NodeState state = with_cpus(from, state_with(from, {sized("b", 6), near}),
                                    {{"a", {0, 1}}, {"b", {2, 3, 4, 5, 6, 7}}});
  const Node to = node_of(machine, config);
  EXPECT_EQ(first_cost(from, state, to), (PlanCost{0, 0, 2, 7, 0}));
}

/// 'w' gets CPUs for the first time, and takes none from others while enough are free.
TEST(FirstPlan, GivesFreeCpusToWhoHadNone) {
  const Config off = aligning_config("restricted", "pod");
  const Node from = node_of(machine_of({}), off);
  const NodeState state = state_with(from, {sized("b", 2), whole("w", 2, 2)});
  const Node to = node_of(machine_of({}), with_whole_pods(off));
  EXPECT_EQ(first_cost(from, state, to), PlanCost{});
}

TEST(FirstPlan, GivesMemoryOfAllNumaNodesWhereOneIsTooSmall) {
  const Machine machine = machine_of({.numa = 2, .cpus = 4, .gib = 8});
  const Config off = aligning_config("none");
  const Node from = node_of(machine, off);
  const Node to = node_of(machine, with_memory_manager(off));
  EXPECT_EQ(first_cost(from, state_with(from, {sized("a", 1, 10)}), to), PlanCost{});
}

TEST(FirstPlan, KeepsThePodThatWasAdmittedFirst) {
  const Node from = node_of(machine_of({.numa = 2, .cpus = 4}), aligning_config("none"));
  const NodeState state = with_cpus(from, state_with(from, {sized("a", 2), sized("b", 2)}),
                                    {{"a", {4, 5}}, {"b", {6, 7}}});
  const Node to = node_of(machine_of({.numa = 1, .cpus = 4}), aligning_config("none"));
  EXPECT_EQ(checked_plan(from, state, to).evicted, std::vector{PodUid("b")});
}

/// A kubelet needs a shared pool: of 'a', which has all CPUs, and 'm', which has none, 'a' is
/// removed. It is placed last, so that its eviction is tried first when a plan is not accepted.
TEST(FirstPlan, EvictsAPodThatLeavesCpusToTheSharedPool) {
  Config config = aligning_config("none");
  config.profile = Profile::kKubelet136;
  const Node from = node_of(machine_of({}), with_reserved(config, "15"));
  const NodeState state =
      state_with(from, {sized("a", 15, 20), pod("m", {{"cpu", "500m"}, {"memory", "1Gi"}})});
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  const Node to = node_of(machine_of({}), with_memory_manager(config));
  const auto plan = checked_plan(from, state, to, {.steps = 2});
  EXPECT_EQ(plan.cost, (PlanCost{1, 0, 0, 0, 0})) << describe(plan);
  EXPECT_EQ(plan.evicted, std::vector{PodUid("a")});
}

/// The good choices of a search, in contrast, are on one NUMA node or fill one.
TEST(FirstPlan, GivesTheCpusThatTheOptionsPrefer) {
  Config config = aligning_config("none");
  config.cpu_manager_policy_options["distribute-cpus-across-numa"] = "true";
  const Node from = node_of(machine_of({}), without_cpu_manager(config));
  const Node to = node_of(machine_of({}), config);
  const auto plan = checked_plan(from, state_with(from, {sized("a", 10)}), to);
  const CpuSet cpus = planned(plan, "a").cpus_after.value_or(CpuSet{});
  EXPECT_EQ(cpus.count_common(machine_of({}).cpus_of_numa(0)), 5U) << cpus.to_string();
  EXPECT_EQ(cpus.size(), 10U);
}

/// Both NUMA nodes that 'a' could move to cost the same.
TEST(Search, ReturnsTheFirstOfEqualPlans) {
  const Machine machine = machine_of({.numa = 3, .cpus = 2});
  Config config = without_cpu_manager(with_memory_manager(aligning_config("restricted")));
  const Node from = node_of(machine, config);
  const NodeState state = state_with(from, {sized("a", 1, 9)});
  config.kube_reserved["memory"] = "8Gi";
  config.reserved_memory = {{0, {{"memory", "8Gi"}}}};
  const auto plan = checked_plan(from, state, node_of(machine, config));
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 0, 9 * kGi}));
  EXPECT_TRUE(plan.optimal);
  EXPECT_EQ(planned(plan, "a").memory_after.front().numa_affinity, std::vector<std::int32_t>{1});
}

/// 'a' loses a CPU. NUMA node 1 has one free CPU: of all that could make room, only 'one' fits
/// there.
TEST(Search, FindsTheContainerThatCanMakeRoom) {
  const Config config = aligning_config("single-numa-node");
  const Node from = node_of(machine_of({}), with_reserved(config, "15"));
  const NodeState state =
      with_cpus(from,
                state_with(from, {sized("a", 2), sized("two", 2), sized("three", 3),
                                  sized("one", 1), sized("far", 7)}),
                {{"a", {0, 1}},
                 {"two", {2, 3}},
                 {"three", {4, 5, 6}},
                 {"one", {7}},
                 {"far", {8, 9, 10, 11, 12, 13, 14}}});
  const auto plan = checked_plan(from, state, node_of(machine_of({}), config));
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 2, 2, 0})) << describe(plan);
  EXPECT_EQ(planned(plan, "one").cpus_after, (CpuSet{15}));
  EXPECT_TRUE(plan.optimal);
}

/// x loses its CPU; the free one with the lowest number belongs to y.
TEST(Search, LeavesTheCpusOfAnotherContainerOfThePodAlone) {
  const Config config = aligning_config("none");
  const Node from = node_of(machine_of({}), config);
  const NodeState state =
      with_cpus(from, state_with(from, {pair_of("a", 1, 1)}), {{"a/x", {2}}, {"a/y", {1}}});
  const auto plan =
      checked_plan(from, state, node_of(machine_of({}), with_reserved(config, "0,2")));
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 1, 0})) << describe(plan);
  EXPECT_EQ(planned(plan, "a", "y").change, Change::kKept);
}

/// The containers of 'a' must be on one NUMA node: y has more CPUs, so x moves. 'fits' can stay,
/// and 'big' fits no NUMA node.
TEST(Search, MovesTheSmallerOfTwoContainersThatMustBeTogether) {
  const Machine machine = machine_of({.numa = 2, .cpus = 16, .gib = 32});
  const Node from = node_of(machine, aligning_config("none"));
  const NodeState state = with_cpus(
      from, state_with(from, {pair_of("a", 2, 3), pair_of("fits", 1, 1), sized("big", 17)}),
      {{"a/x", {1, 2}},
       {"a/y", {16, 17, 18}},
       {"fits/x", {3}},
       {"fits/y", {4}},
       {"big", CpuSet::parse("5-11,19-28").value()}});
  const Node to = node_of(machine, aligning_config("single-numa-node", "pod"));
  const auto kept = checked_plan(from, state, to);
  EXPECT_EQ(kept.cost, (PlanCost{0, 1, 1, 2, 0})) << describe(kept);
  const auto evicted = checked_plan(from, state, to, {.evict = true});
  EXPECT_EQ(evicted.cost, (PlanCost{1, 0, 1, 2, 0})) << describe(evicted);
}

/// 'a' has lost both of its CPUs, and 'b' its only one; the NUMA node of b's device has one CPU.
/// The search ends without trying all pairs of CPUs for 'a', because nothing can be cheaper.
TEST(Search, EndsWhereNothingCanBeCheaper) {
  const Machine machine =
      machine_of({.numa = 16, .cpus = 1, .devices = {{kNic, {0, 0, 0, 0, 1, 0, 0, 0}}}});
  const Config config = aligning_config("restricted");
  const Node from = node_of(machine, with_reserved(aligning_config("none"), "15"));
  NodeState state =
      with_cpus(from,
                state_with(from, {sized("gone", 1), sized("a", 2),
                                  pod("b", {{"cpu", "1"}, {"memory", "1Gi"}, {kNic, "1"}})}),
                {{"gone", {3}}, {"a", {1, 2}}, {"b", {0}}});
  state.held.insert(PodUid("gone"));
  state.pods.erase(state.pods.begin());
  const auto plan =
      checked_plan(from, state, node_of(machine, with_reserved(config, "0-3")), {.steps = 160});
  EXPECT_EQ(plan.cost, (PlanCost{1, 0, 2, 3, 0})) << describe(plan);
  EXPECT_TRUE(plan.optimal);
}

/// Memory shrinks while the CPU manager is disabled: CPUs that become shared are not a move.
TEST(Search, MovesTheLeastMemoryWhenCpusBecomeShared) {
  Config config = with_memory_manager(aligning_config("none"));
  const Node from = node_of(machine_of({}), config);
  const auto part = [](const char* name, const char* memory) {
    return container(name, {{"cpu", "1"}, {"memory", memory}});
  };
  const NodeState state =
      state_with(from, {pod_of("p", {part("x", "3Gi"), part("y", "1Gi")}), sized("a", 1, 9)});
  config.kube_reserved["memory"] = "5Gi";
  config.reserved_memory = {{0, {{"memory", "5Gi"}}}};
  const auto plan = checked_plan(from, state, node_of(machine_of({}), without_cpu_manager(config)));
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 0, 3 * kGi})) << describe(plan);
}

/// 'held' keeps NUMA node 0 out of groups, so the memory of 'a' fits only two others.
TEST(Search, TriesEverySetOfNumaNodesForMemoryOnMachinesThatAreNotLarge) {
  for (const int numa : {8, 9}) {
    const Machine machine = machine_of({.numa = numa, .cpus = 1, .gib = 4});
    Config config = without_cpu_manager(with_memory_manager(aligning_config("restricted")));
    const Node from = node_of(machine, config);
    NodeState state = state_with(from, {sized("held", 1, 1), sized("a", 1, 5)});
    ASSERT_EQ(state.memory.assignments.find(id_of("a"))->front().numa_affinity,
              (std::vector<std::int32_t>{1, 2}));
    state.held.insert(PodUid("held"));
    state.pods.erase(state.pods.begin());
    config.kube_reserved["memory"] = "4608Mi";
    config.reserved_memory = {{0, {{"memory", "1Gi"}}}, {1, {{"memory", "3584Mi"}}}};
    const auto plan = checked_plan(from, state, node_of(machine, config));
    EXPECT_EQ(plan.cost, numa == 8 ? (PlanCost{0, 0, 1, 0, 5 * kGi}) : (PlanCost{1, 0, 0, 0, 0}))
        << describe(plan);
    EXPECT_EQ(plan.optimal, numa == 8) << "a larger machine is not searched in full";
  }
}

/// On one NUMA node 'a' can have one of its CPUs and another, or two others. Including its present
/// CPUs and CPUs on two NUMA nodes, there are nine different placements.
TEST(Search, CountsPlacementsInEachPass) {
  const Node from = node_of(machine_of({}), aligning_config("none"));
  const NodeState state = with_cpus(from, state_with(from, {sized("a", 2)}), {{"a", {1, 8}}});
  const Node to = node_of(machine_of({}), aligning_config("single-numa-node"));
  for (const std::size_t steps : {std::size_t{8}, std::size_t{9}}) {
    const auto plan = checked_plan(from, state, to, {.steps = steps});
    EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 1, 0}));
    EXPECT_EQ(plan.optimal, steps == 9);
  }
}

/// The same resources can first be left for the last containers at a higher cost.
TEST(Search, TriesAgainWhatIsLeftAtALowerCost) {
  const Node from = node_of(machine_of({.numa = 2, .cpus = 4, .gib = 8}),
                            with_reserved(aligning_config("none"), "0-1"));
  const PodSpec pair = pod_of("pair", {container("x", {{"cpu", "1"}, {"memory", "5Gi"}}),
                                       container("y", {{"cpu", "1"}, {"memory", "4Gi"}})});
  const NodeState state = with_cpus(from, state_with(from, {sized("a", 2), sized("b", 1), pair}),
                                    {{"a", {2, 3}}, {"b", {4}}, {"pair/x", {5}}, {"pair/y", {6}}});
  Config config = with_memory_manager(aligning_config("restricted"));
  config.reserved_memory = {{1, {{"memory", "1Gi"}}}};
  const Node to = node_of(machine_of({.numa = 2, .cpus = 3, .gib = 8}), config);
  const auto plan = checked_plan(from, state, to);
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 3, 3, 0})) << describe(plan);
}

/// There are too many placements to try all. Good choices come first, and each pod has some. 'w'
/// gets CPUs for the first time.
TEST(Search, ImprovesAPlanMoreThanOnceWithGoodChoices) {
  const Machine machine = machine_of({.numa = 2, .cpus = 16});
  const Node from = node_of(machine, aligning_config("none"));
  const NodeState state =
      with_cpus(from,
                state_with(from, {pair_of("p", 2, 4), pair_of("q", 2, 4), sized("r", 3),
                                  sized("s", 3), whole("w", 2, 1)}),
                {{"p/x", {1, 2}},
                 {"p/y", {16, 17, 18, 19}},
                 {"q/x", {3, 4}},
                 {"q/y", {20, 21, 22, 23}},
                 {"r", {5, 6, 7}},
                 {"s", {24, 25, 26}}});
  const Node to = node_of(machine, with_whole_pods(aligning_config("single-numa-node", "pod")));
  EXPECT_EQ(first_cost(from, state, to), (PlanCost{0, 0, 2, 8, 0}));
  EXPECT_EQ(checked_plan(from, state, to, {.steps = 300}).cost, (PlanCost{0, 0, 2, 4, 0}));
}

/// Each of two pods that the rules reject stays or is removed: four solutions.
TEST(Search, GivesUpAfterAsManySolutionsThatAreNotAcceptedAsItHasSteps) {
  const Node lax = node_of(smt_machine(), aligning_config("none"));
  const Node to = node_of(smt_machine(), of_whole_cores(aligning_config("none")));
  const NodeState state = state_with(lax, {sized("a", 3), sized("b", 5)});
  planning::Judge judge(to, state);
  const planning::SearchProblem problem = planning::survey(to, state, judge);
  std::size_t asked = 0;
  planning::SearchRules rules;
  rules.steps = 3;
  rules.accepts = [&](const std::vector<planning::PodChoice>&) {
    ++asked;
    return false;
  };
  planning::Search search(problem, judge, rules);
  search.run();
  EXPECT_FALSE(search.best());
  EXPECT_FALSE(search.is_exhausted());
  EXPECT_EQ(asked, 4 * rules.steps) << "in each of four passes";
}

}  // namespace
}  // namespace pinfold::test
