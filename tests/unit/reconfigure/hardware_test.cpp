// Changes of reservations and hardware while containers run; held pods, devices.

#include "checked_plan.hpp"

namespace pinfold::test {
namespace {

Config reserving(const std::string& cpus, Profile profile = Profile::kFixed) {
  Config config = with_memory_manager(aligning_config("restricted"));
  config.reserved_system_cpus = cpus;
  config.profile = profile;
  return config;
}

const auto kBothProfiles = {Profile::kKubelet136, Profile::kFixed};

TEST(ReconfigureReserved, GrownMovesOnlyWhoLosesCpus) {
  for (const Profile profile : kBothProfiles) {
    const Node from = node_of(machine_of({}), reserving("0", profile));
    const Node to = node_of(machine_of({}), reserving("0-1", profile));
    const NodeState state = state_with(from, {sized("a", 2), sized("b", 2)});
    const auto result = checked_plan(from, state, to);
    const auto a = planned(result, "a");
    EXPECT_EQ(a.change, Change::kMoved);
    EXPECT_EQ(a.cpus_moved, 1U);
    EXPECT_EQ(a.why, "CPU 1 is now reserved");
    EXPECT_EQ(planned(result, "b").change, Change::kKept);
    EXPECT_TRUE(result.optimal);
  }
}

TEST(ReconfigureReserved, ShrunkMovesNothing) {
  const Node from = node_of(machine_of({}), reserving("0-3"));
  const Node to = node_of(machine_of({}), reserving("0"));
  const auto result = checked_plan(from, state_with(from, {sized("a", 4), sized("b", 3)}), to);
  EXPECT_EQ(result.cost, PlanCost{});
  EXPECT_EQ(result.next.cpu.default_set, CpuSet::parse("0-3,11-15").value());
}

TEST(ReconfigureReserved, MovedToUsedCpus) {
  const Node from = node_of(machine_of({}), reserving("0"));
  const NodeState state = state_with(from, {sized("a", 4)});
  const auto result = checked_plan(from, state, node_of(machine_of({}), reserving("2")));
  EXPECT_EQ(result.cost, (PlanCost{0, 0, 1, 1, 0})) << describe(result);
}

TEST(ReconfigureReserved, WithoutRoomTheFewestPodsGo) {
  // 15 CPUs are in use and 12 are left. Once the pod that loses some is gone, no other has to move.
  const Node from = node_of(machine_of({}), reserving("0"));
  Config config = reserving("0-3");
  config.topology_manager_policy = "none";
  const NodeState state =
      state_with(from, {sized("a", 7), sized("b", 3), sized("c", 2), sized("d", 2), sized("e", 1)});
  const auto result = checked_plan(from, state, node_of(machine_of({}), config));
  EXPECT_EQ(result.cost, (PlanCost{1, 0, 0, 0, 0})) << describe(result);
  EXPECT_EQ(result.evicted, std::vector{PodUid("a")});
  EXPECT_EQ(result.next.pods.size(), 4U);
  EXPECT_EQ(planned(result, "a").change, Change::kEvicted);
  EXPECT_EQ(planned(result, "a").why, "CPUs 1-3 are now reserved, and nothing else fits");
  EXPECT_TRUE(planned(result, "a").rejection);
}

TEST(ReconfigureReserved, MemoryGrownMovesTheMemoryThatDoesNotFitAnyMore) {
  for (const Profile profile : kBothProfiles) {
    Config config = reserving("0", profile);
    config.topology_manager_policy = "none";
    const Node from = node_of(machine_of({}), config);
    const NodeState state = state_with(from, {sized("a", 1, 9), sized("b", 1, 3)});
    config.kube_reserved["memory"] = "5Gi";
    config.reserved_memory = {{0, {{"memory", "5Gi"}}}};
    const auto result = checked_plan(from, state, node_of(machine_of({}), config));
    EXPECT_EQ(result.cost, (PlanCost{0, 0, 1, 0, 3 * kGi})) << describe(result);
    EXPECT_EQ(planned(result, "b").memory_after.front().numa_affinity,
              std::vector<std::int32_t>{1});
  }
}

TEST(ReconfigureHardware, RemovedCpusAreReplaced) {
  for (const Profile profile : kBothProfiles) {
    const Node from = node_of(machine_of({}), reserving("0", profile));
    MachineDescription fewer = from.machine().description();
    std::erase_if(fewer.cpus, [](const Cpu& cpu) { return cpu.id.value == 1; });
    const Node to = node_of(Machine::make(std::move(fewer)).value(), reserving("0", profile));
    const auto result = checked_plan(from, state_with(from, {sized("a", 2), sized("b", 2)}), to);
    EXPECT_EQ(result.cost, (PlanCost{0, 0, 1, 1, 0})) << describe(result);
    EXPECT_EQ(planned(result, "a").why, "CPU 1 no longer exists");
  }
}

TEST(ReconfigureHardware, AddedCpusJoinTheSharedPool) {
  const Node from = node_of(machine_of({.numa = 2, .cpus = 4}), reserving("0"));
  MachineDescription more = from.machine().description();
  more.cpus.push_back({CpuId{8}, CoreId{8}, SocketId{1}, NumaId{1}, CacheId{1}});
  const Node to = node_of(Machine::make(std::move(more)).value(), reserving("0"));
  const auto result = checked_plan(from, state_with(from, {sized("a", 3)}), to);
  EXPECT_EQ(result.cost, PlanCost{});
  EXPECT_TRUE(result.next.cpu.default_set.contains(CpuId{8}));
}

TEST(ReconfigureHardware, MemoryOfANumaNodeShrinks) {
  Config config = reserving("0");
  config.topology_manager_policy = "none";
  const Node from = node_of(machine_of({}), config);
  const NodeState state = state_with(from, {sized("a", 1, 9), sized("b", 1, 3)});
  MachineDescription smaller = from.machine().description();
  smaller.numa_nodes[0].memory = 11 * kGi;
  const Node to = node_of(Machine::make(std::move(smaller)).value(), config);
  const auto result = checked_plan(from, state, to);
  EXPECT_EQ(result.cost, (PlanCost{0, 0, 1, 0, 3 * kGi})) << describe(result);
  EXPECT_EQ(result.next.memory.machine_state.at(0).tables.at("memory").total, 11 * kGi);
}

TEST(ReconfigureHardware, ARemovedNumaNodeLosesItsContainers) {
  const Node from = node_of(machine_of({.numa = 2, .cpus = 4}), reserving("0"));
  const Node to = node_of(machine_of({.numa = 1, .cpus = 4}), reserving("0"));
  const auto result =
      checked_plan(from, state_with(from, {sized("a", 2), sized("b", 2), sized("d", 1)}), to);
  EXPECT_EQ(result.cost.pods_evicted, 1U) << describe(result);
  EXPECT_EQ(result.evicted, std::vector{PodUid("b")}) << describe(result);
}

TEST(ReconfigureHeld, KeepsWhatItHasOrSaysWhatIsInTheWay) {
  const Node from = node_of(machine_of({}), reserving("0"));
  NodeState state = state_with(from, {sized("a", 2), sized("b", 2)});
  for (const char* const uid : {"a", "b"}) state.held.insert(PodUid(uid));
  state.pods.clear();
  const auto result = checked_plan(from, state, node_of(machine_of({}), reserving("0-1")));
  EXPECT_EQ(planned(result, "a").change, Change::kEvicted);
  EXPECT_EQ(planned(result, "a").why,
            "its pod is not active, so it cannot move; CPU 1 is now reserved");
  EXPECT_EQ(planned(result, "b").change, Change::kKept);
  EXPECT_EQ(planned(result, "b").why, "its pod is not active, and its resources are still free");
  EXPECT_EQ(result.containers.size(), 2U);
  EXPECT_EQ(result.evicted, std::vector{PodUid("a")});
  EXPECT_EQ(result.next.held, std::set{PodUid("b")});
}

TEST(ReconfigureHeld, TheSmallestGoesIfAKubeletNeedsASharedPool) {
  Config config = aligning_config("none");
  config.profile = Profile::kKubelet136;
  const Node from = node_of(machine_of({}), config);
  NodeState state = state_with(from, {sized("a", 8), sized("b", 7)});
  for (const char* const uid : {"a", "b"}) state.held.insert(PodUid(uid));
  state.pods.clear();
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  const auto result = checked_plan(from, state, node_of(machine_of({}), config));
  EXPECT_EQ(result.evicted, std::vector{PodUid("b")});
  EXPECT_EQ(planned(result, "b").why,
            "its pod is not active, so it cannot move; a kubelet needs a shared pool");
  EXPECT_EQ(planned(result, "a").change, Change::kKept);
  config.profile = Profile::kFixed;
  EXPECT_EQ(checked_plan(from, state, node_of(machine_of({}), config)).cost, PlanCost{});
}

TEST(ReconfigureHeld, TheFirstGoesOfThoseThatAreTheSmallest) {
  Config config = aligning_config("none");
  config.profile = Profile::kKubelet136;
  const Node from = node_of(machine_of({}), config);
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  const Node to = node_of(machine_of({}), config);
  for (const std::array<int, 3>& sizes : {std::array{4, 5, 6}, std::array{7, 4, 4}}) {
    NodeState state =
        state_with(from, {sized("a", sizes[0]), sized("b", sizes[1]), sized("c", sizes[2])});
    for (const char* const uid : {"a", "b", "c"}) state.held.insert(PodUid(uid));
    state.pods.clear();
    const PodUid smallest(sizes[0] == 4 ? "a" : "b");
    EXPECT_EQ(checked_plan(from, state, to).evicted, std::vector{smallest});
  }
}

TEST(ReconfigureReserved, MemoryShrunkOrMovedMovesNothingThatFits) {
  for (const Profile profile : kBothProfiles) {
    const auto with_reserved = [&](int numa, const std::string& amount) {
      Config config = reserving("0", profile);
      config.kube_reserved["memory"] = amount;
      config.reserved_memory = {{numa, {{"memory", amount}}}};
      return config;
    };
    const Node much = node_of(machine_of({}), with_reserved(0, "5Gi"));
    const NodeState state = state_with(much, {sized("a", 2, 9)});
    for (const Config& config : {with_reserved(0, "1Gi"), with_reserved(1, "5Gi")}) {
      const Node to = node_of(machine_of({}), config);
      const auto result = checked_plan(much, state, to);
      EXPECT_EQ(result.cost, PlanCost{}) << describe(result);
    }
    // 9 GiB of 16 are in use on NUMA node 0, so 8 GiB cannot be reserved there.
    const auto moved = checked_plan(much, state, node_of(machine_of({}), with_reserved(0, "8Gi")));
    EXPECT_EQ(moved.cost.containers_moved, 1U) << describe(moved);
  }
}

TEST(ReconfigureHardware, MoreMemoryOrANumaNodeMovesNothing) {
  const Node from = node_of(machine_of({}), reserving("0"));
  const NodeState state = state_with(from, {sized("a", 2, 9), sized("b", 2)});
  MachineDescription larger = from.machine().description();
  larger.numa_nodes[0].memory = 32 * kGi;
  const Node to = node_of(Machine::make(std::move(larger)).value(), reserving("0"));
  const auto result = checked_plan(from, state, to);
  EXPECT_EQ(result.cost, PlanCost{}) << describe(result);
  EXPECT_EQ(result.next.memory.machine_state.at(0).tables.at("memory").total, 32 * kGi);
  const auto wider = checked_plan(from, state, node_of(machine_of({.numa = 3}), reserving("0")));
  EXPECT_EQ(wider.cost, PlanCost{}) << describe(wider);
  EXPECT_TRUE(wider.next.cpu.default_set.contains(CpuId{23}));
}

TEST(ReconfigureDevices, StayWhereTheyAreAndPullCpusToThem) {
  for (const Profile profile : kBothProfiles) {
    const Machine machine = machine_of({.devices = {{kNic, {0, 1}}}});
    Config config = aligning_config("none");
    config.profile = profile;
    const Node from = node_of(machine, config);
    const PodSpec spec = pod("a", {{"cpu", "2"}, {"memory", "1Gi"}, {kNic, "1"}});
    const NodeState state = state_with(from, {spec});
    ASSERT_TRUE(from.machine().cpus_of_numa(0).contains_all(
        *state.cpu.assignments.find({PodUid("a"), "c"})));
    config.topology_manager_policy = "single-numa-node";
    const Node to = node_of(machine, config);
    const auto result = checked_plan(from, state, to);
    EXPECT_EQ(result.cost, (PlanCost{0, 0, 1, 2, 0})) << describe(result);
    EXPECT_TRUE(to.machine().cpus_of_numa(1).contains_all(
        planned(result, "a").cpus_after.value_or(CpuSet{})));
    EXPECT_EQ(result.next.devices.assignments, state.devices.assignments);
  }
}

TEST(ReconfigureDevices, OfAPodThatGoesAreFree) {
  const Machine machine = machine_of({.devices = {{kNic, {1, 0}}}});
  Config config = reserving("0");
  config.topology_manager_policy = "none";
  const Node from = node_of(machine, config);
  config.reserved_system_cpus = "0-1";
  const Node to = node_of(machine, config);
  for (const bool is_held : {false, true}) {
    NodeState state = state_with(from, {pod("a", {{"cpu", "15"}, {"memory", "1Gi"}, {kNic, "1"}})});
    ASSERT_FALSE(state.devices.assignments.empty());
    if (is_held) {
      state.held.insert(PodUid("a"));
      state.pods.clear();
    }
    const auto result = checked_plan(from, state, to);
    EXPECT_EQ(result.evicted, std::vector{PodUid("a")}) << describe(result);
    EXPECT_TRUE(result.next.devices.assignments.empty()) << is_held;
  }
}

TEST(ReconfigureInit, InitContainersStayWithinThePod) {
  const Node from = node_of(machine_of({}), reserving("0"));
  const Amounts two = {{"cpu", "2"}, {"memory", "1Gi"}};
  const PodSpec spec =
      pod_of("a", {container("init", two, ContainerKind::kInit), container("app", two)});
  const NodeState state = state_with(from, {spec});
  ASSERT_EQ(state.cpu.assignments.find({PodUid("a"), "init"})->to_string(), "1-2");
  const auto result = checked_plan(from, state, node_of(machine_of({}), reserving("0-1")));
  const auto app = planned(result, "a", "app");
  EXPECT_EQ(app.cpus_moved, 1U) << describe(result);
  EXPECT_EQ(planned(result, "a", "init").cpus_after, app.cpus_after) << describe(result);
}

TEST(ReconfigureHardware, SaysWhichNumaNodeIsGone) {
  Config config = reserving("0");
  config.cpu_manager_policy = "none";
  config.topology_manager_policy = "none";
  const Node from = node_of(machine_of({.numa = 2, .cpus = 4}), config);
  const Node to = node_of(machine_of({.numa = 1, .cpus = 4}), config);
  const auto result = checked_plan(
      from, state_with(from, {sized("a", 1, 8), sized("b", 1, 8), sized("d", 1, 3)}), to);
  EXPECT_EQ(result.cost, (PlanCost{1, 0, 0, 0, 0})) << describe(result);
  EXPECT_EQ(planned(result, "b").why, "NUMA node 1 no longer exists, and nothing else fits");
  EXPECT_EQ(planned(result, "a").why, "the rules allow its resources");
}

Config without_alignment(const std::string& reserved) {
  Config config = aligning_config("none");
  config.reserved_system_cpus = reserved;
  return config;
}

/// Without a search, since nothing can cost less.
TEST(ReconfigureSearch, KnowsAtOnceThatThereIsNothingCheaper) {
  Config smt = reserving("0");
  smt.cpu_manager_policy_options["full-pcpus-only"] = "true";
  Config fewer_smt = smt;
  fewer_smt.reserved_system_cpus = "0-1";
  Config no_topology = reserving("0");
  no_topology.topology_manager_policy = "none";
  struct Case {
    const char* name;
    Machine machine;
    Config from;
    Config to;
    std::vector<PodSpec> pods;
    bool are_held = false;
    bool evict = false;
    PlanCost expected = {};
  };
  const std::vector<Case> cases = {
      {"kept", machine_of({}), reserving("0"), reserving("1", Profile::kKubelet136), {}},
      {"one CPU is lost",
       machine_of({}),
       reserving("0"),
       reserving("0-1"),
       {sized("a", 2), sized("b", 2)},
       false,
       false,
       {0, 0, 1, 1, 0}},
      {"two lose CPUs",
       machine_of({}),
       without_alignment("0"),
       without_alignment("0-3"),
       {sized("a", 2), sized("b", 3)},
       false,
       false,
       {0, 0, 2, 3, 0}},
      {"against rules",
       smt_machine(),
       no_topology,
       smt,
       {sized("a", 3)},
       false,
       false,
       {0, 1, 0, 0, 0}},
      {"against rules, to be evicted",
       smt_machine(),
       no_topology,
       smt,
       {sized("a", 3)},
       false,
       true,
       {1, 0, 0, 0, 0}},
      {"against rules, and gone",
       smt_machine(),
       no_topology,
       fewer_smt,
       {sized("a", 5)},
       false,
       false,
       {1, 0, 0, 0, 0}},
      {"held, and gone",
       machine_of({}),
       reserving("0"),
       reserving("0-1"),
       {sized("a", 2)},
       true,
       false,
       {1, 0, 0, 0, 0}},
  };
  for (const Case& each : cases) {
    const Node from = node_of(each.machine, each.from);
    const Node to = node_of(each.machine, each.to);
    NodeState state = state_with(from, each.pods);
    if (each.are_held) {
      for (const PodSpec& spec : each.pods) state.held.insert(spec.uid);
      state.pods.clear();
    }
    for (const std::size_t steps : {std::size_t{0}, std::size_t{1000}}) {
      const auto plan = plan_reconfiguration(from, state, to, {each.evict, steps});
      ASSERT_TRUE(plan) << each.name;
      EXPECT_EQ(plan->cost, each.expected) << each.name << "\n" << describe(*plan);
      EXPECT_TRUE(plan->optimal) << each.name << ", " << steps << " steps";
    }
  }
}

TEST(ReconfigureSearch, SaysThatItWasTooShort) {
  Config config = reserving("0");
  config.topology_manager_policy = "none";
  const Node from = node_of(machine_of({}), config);
  NodeState state = state_with(from, {sized("a", 2)});
  state.cpu.default_set |= CpuSet{1, 2};
  state.cpu.assignments[{PodUid("a"), "c"}] = {1, 8};
  state.cpu.default_set -= {1, 8};
  const Node to = node_of(machine_of({}), reserving("0"));
  for (const std::size_t steps : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    const auto plan = plan_reconfiguration(from, state, to, {false, steps});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->cost, (PlanCost{0, 0, 1, 1, 0})) << describe(*plan);
    EXPECT_EQ(plan->optimal, steps == 1000) << steps;
  }
}

TEST(ReconfigureErrors, ANodeThatNeverStartsHasNoPlan) {
  const Node from = node_of(machine_of({}), aligning_config("none"));
  Config config = aligning_config("none");
  config.kube_reserved["memory"] = "100Gi";
  const auto result =
      plan_reconfiguration(from, empty_state(from), node_of(machine_of({}), config));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("invalid Node Allocatable configuration"),
            std::string::npos);
}

TEST(Reconfigure, AffinitiesAreLostAsByARestart) {
  const Node from = node_of(machine_of({}), reserving("0"));
  const NodeState state = state_with(from, {sized("a", 2)});
  ASSERT_FALSE(state.affinity.empty());
  EXPECT_TRUE(
      checked_plan(from, state, node_of(machine_of({}), reserving("0-1"))).next.affinity.empty());
}

}  // namespace
}  // namespace pinfold::test
