// Pods of several containers, pods that are managed as a whole, and parts that stay unchanged:
// devices, states of hint providers, groups of NUMA nodes, held pods.

#include "checked_plan.hpp"
#include "provider_without_hints.hpp"

namespace pinfold::test {
namespace {

Container part(const std::string& name, const std::string& cpus, const std::string& memory,
               ContainerKind kind = ContainerKind::kApp) {
  return container(name, {{"cpu", cpus}, {"memory", memory}}, kind);
}

CpuSet cpus_after(const ReconfigurationPlan& plan, const std::string& pod,
                  const std::string& name) {
  return planned(plan, pod, name).cpus_after.value_or(CpuSet{});
}

TEST(PlannedInit, SharesNoCpuWithASidecarThatRuns) {
  const Config config = aligning_config("none");
  const Node from = node_of(machine_of({}), without_cpu_manager(config));
  const PodSpec spec =
      pod_of("a", {part("early", "1", "1Gi", ContainerKind::kInit),
                   part("side", "1", "1Gi", ContainerKind::kSidecar),
                   part("late", "1", "1Gi", ContainerKind::kInit), part("app", "1", "1Gi")});
  const auto plan = checked_plan(from, state_with(from, {spec}), node_of(machine_of({}), config));
  EXPECT_EQ(plan.cost, PlanCost{}) << describe(plan);
  const CpuSet side = cpus_after(plan, "a", "side");
  EXPECT_EQ(cpus_after(plan, "a", "early"), side) << "it ends before";
  EXPECT_FALSE(cpus_after(plan, "a", "late").intersects(side)) << describe(plan);
  EXPECT_EQ(cpus_after(plan, "a", "late"), cpus_after(plan, "a", "app"));
}

TEST(PlannedInit, SharesCpusWithOtherInitContainers) {
  const Machine machine = machine_of({.numa = 1, .cpus = 4});
  const Config config = aligning_config("none");
  const Node from = node_of(machine, without_cpu_manager(config));
  const PodSpec spec =
      pod_of("a", {part("one", "3", "1Gi", ContainerKind::kInit),
                   part("two", "3", "1Gi", ContainerKind::kInit), part("app", "1", "1Gi")});
  const auto plan = checked_plan(from, state_with(from, {spec}), node_of(machine, config));
  EXPECT_EQ(plan.cost, PlanCost{}) << describe(plan);
  EXPECT_EQ(cpus_after(plan, "a", "two"), (CpuSet{1, 2, 3}));
}

/// Free CPUs with lower numbers are left for others.
TEST(PlannedInit, MovesToCpusOfItsPod) {
  const Config config = aligning_config("none");
  const Node from = node_of(machine_of({}), config);
  const PodSpec spec = pod_of("a", {part("init", "1", "1Gi", ContainerKind::kInit),
                                    part("x", "1", "1Gi"), part("y", "1", "1Gi")});
  const Node to = node_of(machine_of({}), with_reserved(config, "0-1"));
  for (const auto& [x, y] : {std::pair(CpuSet{5}, CpuSet{8}), std::pair(CpuSet{8}, CpuSet{5})}) {
    const NodeState state =
        with_cpus(from, state_with(from, {spec}), {{"a/init", {1}}, {"a/x", x}, {"a/y", y}});
    EXPECT_EQ(cpus_after(checked_plan(from, state, to), "a", "init"), (CpuSet{5}));
  }
}

/// Two CPUs of NUMA node 0 and all of NUMA node 1: a kubelet would not admit them together as a
/// pod, because the second container must have the CPUs of the first.
TEST(PlannedInit, IsJudgedAlone) {
  const Machine machine = machine_of({.devices = {{kNic, {1, 0}}}});
  const Node from = node_of(machine, aligning_config("none"));
  const PodSpec spec = pod_of(
      "a", {container("init", {{"cpu", "2"}, {"memory", "1Gi"}, {kNic, "1"}}, ContainerKind::kInit),
            part("app", "8", "1Gi")});
  const NodeState state =
      with_cpus(from, state_with(from, {spec}),
                {{"a/init", {1, 2}}, {"a/app", {8, 9, 10, 11, 12, 13, 14, 15}}});
  const auto plan =
      checked_plan(from, state, node_of(machine, aligning_config("single-numa-node")));
  EXPECT_EQ(plan.cost, PlanCost{}) << describe(plan);
}

TEST(PlannedPodScope, ContainersMoveAlongWithOneThatLosesCpus) {
  const Config config = aligning_config("single-numa-node", "pod");
  const Node from = node_of(machine_of({}), config);
  const NodeState state =
      with_cpus(from, state_with(from, {pair_of("a", 2, 1), sized("near", 4), sized("far", 4)}),
                {{"a/x", {1, 2}}, {"a/y", {3}}, {"near", {4, 5, 6, 7}}, {"far", {8, 9, 10, 11}}});
  const auto plan =
      checked_plan(from, state, node_of(machine_of({}), with_reserved(config, "0-1")));
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 2, 3, 0})) << describe(plan);
  EXPECT_EQ(planned(plan, "a", "x").why, "CPU 1 is now reserved");
  EXPECT_EQ(planned(plan, "a", "y").why,
            "the rules would not admit its pod with its CPUs and memory");
}

TEST(PlannedPodScope, SaysOfASingleContainerThatTheRulesAreAboutIt) {
  const Node from = node_of(machine_of({}), aligning_config("none"));
  const NodeState state = with_cpus(from, state_with(from, {sized("a", 2)}), {{"a", {1, 8}}});
  const Node to = node_of(machine_of({}), aligning_config("single-numa-node", "pod"));
  const auto plan = checked_plan(from, state, to);
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 1, 0}));
  EXPECT_EQ(planned(plan, "a").why, "the rules would not admit it with its CPUs and memory");
}

/// In the end all free CPUs are whole cores, and the CPUs of each container must be, too.
TEST(PlannedPodScope, FullPcpusOnlyIsAboutEachContainer) {
  for (const auto& [reserved, x, y, cost] :
       {std::tuple("0", CpuSet{1, 2}, CpuSet{3, 11}, PlanCost{0, 0, 1, 1, 0}),
        std::tuple("0", CpuSet{1, 9}, CpuSet{2, 3}, PlanCost{0, 0, 1, 1, 0}),
        std::tuple("0", CpuSet{1, 9}, CpuSet{3, 11}, PlanCost{}),
        std::tuple("0-1", CpuSet{8, 9}, CpuSet{2, 3}, PlanCost{0, 0, 2, 3, 0})}) {
    const Node from = node_of(smt_machine(), with_reserved(aligning_config("none"), reserved));
    const NodeState state =
        with_cpus(from, state_with(from, {pair_of("a", 2, 2)}), {{"a/x", x}, {"a/y", y}});
    const Node to =
        node_of(smt_machine(),
                of_whole_cores(with_reserved(aligning_config("restricted", "pod"), reserved)));
    EXPECT_EQ(checked_plan(from, state, to).cost, cost) << x.to_string() << " " << y.to_string();
  }
}

TEST(PlannedPodScope, FullPcpusOnlyIsNotAboutContainersWithoutCpus) {
  const Config config = with_memory_manager(aligning_config("restricted", "pod"));
  const Node from = node_of(smt_machine(), config);
  const NodeState state =
      state_with(from, {pod_of("a", {part("x", "2", "1Gi"), part("y", "500m", "1Gi")})});
  const auto plan = checked_plan(from, state, node_of(smt_machine(), of_whole_cores(config)));
  EXPECT_EQ(plan.cost, PlanCost{}) << describe(plan);
}

TEST(PlannedPodScope, CountsTheMemoryOfAnInitContainerThatHasEnded) {
  const Node from = node_of(machine_of({}), with_memory_manager(aligning_config("restricted")));
  const NodeState state = state_with(
      from,
      {pod_of("a", {part("init", "1", "3Gi", ContainerKind::kInit), part("app", "1", "1Gi")})});
  const Node to =
      node_of(machine_of({}), with_memory_manager(aligning_config("restricted", "pod")));
  EXPECT_EQ(checked_plan(from, state, to).cost, PlanCost{});
}

/// NUMA node 0 then has 5 GiB for pods: x moves, y stays.
TEST(PlannedMemory, OfOneContainerMovesWithoutThatOfAnother) {
  Config config = with_memory_manager(aligning_config("none"));
  const Node from = node_of(machine_of({}), config);
  const NodeState state =
      state_with(from, {pod_of("a", {part("x", "1", "9Gi"), part("y", "1", "1Gi")})});
  config.kube_reserved["memory"] = "11Gi";
  config.reserved_memory = {{0, {{"memory", "11Gi"}}}};
  const auto plan = checked_plan(from, state, node_of(machine_of({}), config));
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 0, 9 * kGi})) << describe(plan);
  EXPECT_EQ(planned(plan, "a", "y").change, Change::kKept);
}

TEST(PlannedMemory, IsOnTheNumaNodeOfTheCpusThoughAnyIsAllowed) {
  const Config config = aligning_config("none");
  const Node from = node_of(machine_of({}), config);
  const NodeState state = with_cpus(from, state_with(from, {sized("a", 2)}), {{"a", {8, 9}}});
  const auto plan = checked_plan(from, state, node_of(machine_of({}), with_memory_manager(config)));
  EXPECT_EQ(planned(plan, "a").memory_after.front().numa_affinity, std::vector<std::int32_t>{1});
}

/// For kubelets with the quirk single_node_overwrites_group.
TEST(PlannedMemory, KeepsGroupsThatOverlapAndMakesNone) {
  Config config = with_memory_manager(aligning_config("none"));
  config.profile = Profile::kKubelet136;
  const Node from = node_of(machine_of({}), config);
  const NodeState wide = state_with(from, {sized("x", 1, 20), sized("y", 1, 3)});
  ASSERT_EQ(wide.memory.assignments.find(id_of("y"))->front().numa_affinity,
            (std::vector<std::int32_t>{0, 1}));
  const NodeState overlapping = with_memory_on(wide, {{"y", {1}}});
  const auto kept =
      checked_plan(from, overlapping, node_of(machine_of({}), with_reserved(config, "15")));
  EXPECT_EQ(kept.cost, PlanCost{}) << describe(kept);
  Config fixed = config;
  fixed.profile = Profile::kFixed;
  const auto moved = checked_plan(from, overlapping, node_of(machine_of({}), fixed));
  EXPECT_EQ(moved.cost, (PlanCost{0, 0, 1, 0, 0})) << describe(moved);
  config = without_cpu_manager(config);
  config.topology_manager_policy = "restricted";
  const auto against = checked_plan(from, wide, node_of(machine_of({}), config));
  EXPECT_EQ(against.cost, (PlanCost{0, 1, 0, 0, 0})) << describe(against);
}

/// Returns a pod with 2 CPUs and 6 GiB, of which 'one' and 'two' have a CPU and 1 GiB each.
PodSpec divided_pod() {
  PodSpec spec = pod_of("w", {part("one", "1", "1Gi"), part("two", "1", "1Gi")});
  spec.resources = container("", {{"cpu", "2"}, {"memory", "6Gi"}}).resources;
  return spec;
}

TEST(PlannedWholePod, GivesEachContainerAnotherCpuForTheOneThatItLoses) {
  const Config config = with_whole_pods(aligning_config("restricted", "pod"));
  const Node from = node_of(machine_of({}), config);
  const Node to = node_of(machine_of({}), with_reserved(config, "0-2"));
  const auto plan = checked_plan(from, state_with(from, {divided_pod()}), to);
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 2, 2, 0})) << describe(plan);
  const CpuSet one = cpus_after(plan, "w", "one");
  const CpuSet two = cpus_after(plan, "w", "two");
  EXPECT_EQ(one.size(), 1U);
  EXPECT_EQ(two.size(), 1U);
  EXPECT_EQ(one | two, plan.next.cpu.pods.at(PodUid("w")));
}

TEST(PlannedWholePod, ContainersKeepTheirMemoryButThoseThatHaveEnded) {
  const Config config = with_memory_manager(with_whole_pods(aligning_config("restricted", "pod")));
  const Node from = node_of(machine_of({}), config);
  PodSpec spec =
      pod_of("w", {part("init", "1", "1Gi", ContainerKind::kInit), part("app", "1", "1Gi")});
  spec.resources = container("", {{"cpu", "2"}, {"memory", "3Gi"}}).resources;
  const Node to = node_of(machine_of({}), with_reserved(config, "0-1"));
  const auto plan = checked_plan(from, state_with(from, {spec}), to);
  EXPECT_EQ(planned(plan, "w", "app").memory_after.size(), 1U) << describe(plan);
  EXPECT_TRUE(planned(plan, "w", "init").memory_after.empty()) << describe(plan);
}

TEST(PlannedWholePod, GetsWhatTheManagersGive) {
  const Config off = aligning_config("restricted", "pod");
  const Node from = node_of(machine_of({}), off);
  const NodeState state = state_with(from, {whole("w", 1, 2)});
  const auto cpus = checked_plan(from, state, node_of(machine_of({}), with_whole_pods(off)));
  EXPECT_EQ(cpus.next.cpu.pods.at(PodUid("w")).size(), 1U);
  EXPECT_TRUE(cpus.next.memory.pods.empty());
  const Config memory_only = without_cpu_manager(with_memory_manager(with_whole_pods(off)));
  const auto memory = checked_plan(from, state, node_of(machine_of({}), memory_only));
  EXPECT_TRUE(memory.next.cpu.pods.empty());
  EXPECT_EQ(memory.next.memory.pods.at(PodUid("w")).front().size, 2 * kGi);
}

TEST(PlannedWholePod, KeepsItsCpusAgainstTheRules) {
  const Node from = node_of(machine_of({}), with_whole_pods(aligning_config("best-effort", "pod")));
  const Node to =
      node_of(machine_of({}), with_whole_pods(aligning_config("single-numa-node", "pod")));
  const NodeState state = state_with(from, {whole("w", 10, 1)});
  const auto plan = checked_plan(from, state, to);
  EXPECT_EQ(plan.cost, (PlanCost{0, 1, 0, 0, 0}));
  EXPECT_EQ(planned(plan, "w").rejection.value_or(Rejection{}).reason, kAffinityError);
  EXPECT_EQ(plan.next.cpu.pods, state.cpu.pods);
}

/// 'w' has 6 GiB of NUMA node 0, which leaves 5 of 11 GiB, so 'b' moves.
TEST(PlannedWholePod, KeepsAllOfItsMemory) {
  Config config = with_memory_manager(with_whole_pods(aligning_config("restricted", "pod")));
  const Node from = node_of(machine_of({}), config);
  const NodeState state = state_with(from, {divided_pod(), sized("b", 3, 7)});
  config.kube_reserved["memory"] = "5Gi";
  config.reserved_memory = {{0, {{"memory", "5Gi"}}}};
  const Node to = node_of(machine_of({}), config);
  const auto plan = checked_plan(from, state, to, {.steps = 0});
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 3, 7 * kGi})) << describe(plan);
}

/// 'a' has halves of cores whose other halves belong to 'o' and 'p', which stay.
TEST(PlannedRejection, IsAboutWhatTheOthersLeave) {
  const Config lax = with_whole_pods(with_reserved(aligning_config("best-effort", "pod"), "0-1"));
  const Node from = node_of(smt_machine(2), lax);
  const Node to = node_of(smt_machine(2), of_whole_cores(lax));
  for (const bool is_whole : {false, true}) {
    const PodSpec a = is_whole ? whole("a", 4, 1) : sized("a", 4);
    NodeState state = with_cpus(from, state_with(from, {a, sized("o", 1), sized("p", 1)}),
                                {{"a", {2, 3, 4, 5}}, {"o", {6}}, {"p", {7}}});
    if (is_whole) state.cpu.pods[PodUid("a")] = {2, 3, 4, 5};
    const auto plan = checked_plan(from, state, to);
    EXPECT_EQ(plan.cost, (PlanCost{0, 3, 0, 0, 0})) << describe(plan);
    EXPECT_EQ(planned(plan, "a").rejection.value_or(Rejection{}).message,
              "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, "
              "requested CPUs = 4, CPUs per core = 2")
        << describe(plan);
  }
}

/// 'a' could move to CPUs 16 and 23, but a search without steps has not found them.
TEST(PlannedRejection, IsAboutWhatThePodHasWhereTheNodeHasRoomForIt) {
  const Machine machine = machine_of({.numa = 3, .cpus = 8});
  const Node from = node_of(machine, aligning_config("none"));
  const NodeState state = with_cpus(
      from,
      state_with(from, {sized("a", 2), sized("c", 5), sized("d", 5), sized("e", 4), sized("f", 6)}),
      {{"a", {7, 16}},
       {"c", {5, 6, 8, 9, 10}},
       {"d", {11, 12, 13, 14, 15}},
       {"e", {1, 2, 3, 4}},
       {"f", {17, 18, 19, 20, 21, 22}}});
  const Node to = node_of(machine, aligning_config("single-numa-node"));
  const auto plan = checked_plan(from, state, to, {.steps = 0});
  EXPECT_EQ(plan.cost, (PlanCost{0, 2, 0, 0, 0})) << describe(plan);
  EXPECT_EQ(planned(plan, "a").rejection.value_or(Rejection{}).reason, kAffinityError);
}

TEST(PlannedDevices, AreNotExchangedForFreeOnes) {
  const Machine machine = machine_of({.devices = {{kNic, {1, 1}}}});
  const Node from = node_of(machine, aligning_config("none"));
  const Amounts amounts = {{"cpu", "2"}, {"memory", "1Gi"}, {kNic, "1"}};
  NodeState state = state_with(from, {pod("first", amounts), pod("a", amounts)});
  state = remove_pod(from, std::move(state), PodUid("first"));
  state = with_cpus(from, state, {{"a", {1, 2}}});
  const auto plan =
      checked_plan(from, state, node_of(machine, aligning_config("single-numa-node")));
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 2, 0})) << describe(plan);
  EXPECT_EQ(plan.next.devices.assignments, state.devices.assignments);
}

TEST(PlannedDevices, OfAnotherContainerOfThePodAreNotFree) {
  const Machine machine = machine_of({.devices = {{kNic, {1, 1}}}});
  const Node from = node_of(machine, aligning_config("none"));
  const Amounts amounts = {{"cpu", "2"}, {"memory", "1Gi"}, {kNic, "1"}};
  const NodeState state = with_cpus(
      from, state_with(from, {pod_of("a", {container("x", amounts), container("y", amounts)})}),
      {{"a/x", {1, 2}}, {"a/y", {3, 4}}});
  const auto plan =
      checked_plan(from, state, node_of(machine, aligning_config("single-numa-node")));
  EXPECT_EQ(plan.cost, (PlanCost{0, 0, 1, 2, 0})) << describe(plan);
}

/// A single seat. The state is the container that holds it.
class Seat : public ProviderWithoutHints {
 public:
  [[nodiscard]] std::string name() const override { return "seat"; }
  [[nodiscard]] Admission allocate(std::string& state, const PodSpec& pod,
                                   const Container& container,
                                   const TopologyHint& /*affinity*/) const override {
    if (!container.resources.limits.contains("example.com/seat")) return {};
    const std::string id = to_string(ContainerId{pod.uid, container.name});
    if (!state.empty() && state != id) {
      return tl::unexpected(Rejection::unexpected("no seat is left"));
    }
    state = id;
    return {};
  }
  void release(std::string& state, const ContainerId& container) const override {
    if (state == to_string(container)) state.clear();
  }
};

Node node_with_seat(const std::string& reserved) {
  Node::Providers providers;
  providers.push_back(std::make_unique<Seat>());
  return std::move(*Node::make(machine_of({}), with_reserved(aligning_config("none"), reserved),
                               std::move(providers)));
}

PodSpec seated(const std::string& uid, const std::string& cpus) {
  return pod(uid, {{"cpu", cpus}, {"memory", "1Gi"}, {"example.com/seat", "1"}});
}

/// Half of the CPUs are then reserved, so only 'small' stays.
TEST(PlannedProviders, KeepTheirStateButForPodsThatGo) {
  const Node from = node_with_seat("0");
  const Node to = node_with_seat("0-7");
  const auto gone = checked_plan(from, state_with(from, {seated("a", "9"), sized("small", 2)}), to);
  EXPECT_EQ(gone.evicted, std::vector{PodUid("a")}) << describe(gone);
  EXPECT_TRUE(gone.next.providers.empty());
  const NodeState state = state_with(from, {sized("b", 9), seated("small", "2")});
  const auto kept = checked_plan(from, state, to);
  EXPECT_EQ(kept.evicted, std::vector{PodUid("b")}) << describe(kept);
  EXPECT_EQ(kept.next.providers, state.providers);
}

TEST(PlannedProviders, AreALimitOfADefragmentation) {
  const Node node = node_with_seat("0");
  const auto plan =
      plan_defragmentation(node, state_with(node, {seated("a", "2")}), seated("b", "2"));
  ASSERT_TRUE(plan && plan->limit);
  EXPECT_NE(plan->limit->message.find("no seat is left"), std::string::npos);
}

/// A kubelet needs a shared pool, so 'a' is removed, and its memory becomes free for 'b'.
TEST(PlannedHeld, GetsWhatOneLeavesThatGoesForTheSharedPool) {
  Config config = with_memory_manager(aligning_config("none"));
  config.profile = Profile::kKubelet136;
  const Node from = node_of(machine_of({}), config);
  NodeState state =
      state_with(from, {sized("a", 15, 10), pod("b", {{"cpu", "500m"}, {"memory", "5Gi"}})});
  for (const char* const uid : {"a", "b"}) state.held.insert(PodUid(uid));
  state.pods.clear();
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  config.kube_reserved["memory"] = "5Gi";
  config.reserved_memory = {{0, {{"memory", "5Gi"}}}};
  const auto plan = checked_plan(from, state, node_of(machine_of({}), config));
  EXPECT_EQ(plan.evicted, std::vector{PodUid("a")}) << describe(plan);
}

}  // namespace
}  // namespace pinfold::test
