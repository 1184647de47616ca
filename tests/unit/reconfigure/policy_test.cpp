// Changes of policies, options, scope and profile while containers run.

#include <array>

#include "checked_plan.hpp"

namespace pinfold::test {
namespace {

constexpr std::array kTestedProfiles = {Profile::kKubelet136, Profile::kFixed};

Config with(Config config, Profile profile) {
  config.profile = profile;
  return config;
}

Config with_option(Config config, const std::string& option) {
  config.cpu_manager_policy_options[option] = "true";
  return config;
}

std::string cpus(const std::optional<CpuSet>& set) { return set ? set->to_string() : "shared"; }

TEST(Reconfigure, CpuPolicyNoneToStaticGivesExclusiveCpus) {
  for (const Profile profile : kTestedProfiles) {
    const Config on = with(aligning_config("single-numa-node"), profile);
    const Node from = node_of(smt_machine(), without_cpu_manager(on));
    const Node to = node_of(smt_machine(), on);
    const auto result =
        checked_plan(from, state_with(from, {sized("a", 2), pod("b", {{"cpu", "500m"}})}), to);
    EXPECT_EQ(planned(result, "a").change, Change::kBecomesExclusive);
    EXPECT_EQ(planned(result, "a").cpus_after.value_or(CpuSet{}).size(), 2U);
    EXPECT_EQ(planned(result, "b").change, Change::kKept);
    EXPECT_EQ(planned(result, "b").why, "it has no exclusive CPUs or NUMA nodes, before or after");
    EXPECT_EQ(result.cost, PlanCost{});
  }
}

TEST(Reconfigure, CpuPolicyStaticToNoneSharesAllCpus) {
  for (const Profile profile : kTestedProfiles) {
    const Config on = with(aligning_config("none"), profile);
    const Node from = node_of(smt_machine(), on);
    const Node to = node_of(smt_machine(), without_cpu_manager(on));
    const auto result = checked_plan(from, state_with(from, {sized("a", 2)}), to);
    EXPECT_EQ(planned(result, "a").change, Change::kBecomesShared);
    EXPECT_EQ(planned(result, "a").cpus_after, std::nullopt);
    EXPECT_TRUE(result.next.cpu.assignments.empty());
  }
}

TEST(Reconfigure, MemoryPolicyNoneToStaticGivesTheNumaNodeOfTheCpus) {
  for (const Profile profile : kTestedProfiles) {
    const Config off = with(aligning_config("restricted"), profile);
    const Node from = node_of(smt_machine(), off);
    const Node to = node_of(smt_machine(), with_memory_manager(off));
    const auto result = checked_plan(from, state_with(from, {sized("a", 6), sized("b", 4)}), to);
    const auto b = planned(result, "b");
    EXPECT_EQ(b.change, Change::kBecomesExclusive);
    EXPECT_EQ(b.cpus_after, b.cpus_before);
    ASSERT_EQ(b.memory_after.size(), 1U);
    EXPECT_EQ(b.memory_after.front().numa_affinity, std::vector<std::int32_t>{1});
    EXPECT_EQ(b.memory_after.front().size, std::uint64_t{1} << 30U);
    EXPECT_EQ(result.cost, PlanCost{});
  }
}

TEST(Reconfigure, MemoryPolicyStaticToNoneFreesTheMemory) {
  for (const Profile profile : kTestedProfiles) {
    const Config off = with(aligning_config("restricted"), profile);
    const Node from = node_of(smt_machine(), with_memory_manager(off));
    const Node to = node_of(smt_machine(), off);
    const auto result = checked_plan(from, state_with(from, {sized("a", 2)}), to);
    EXPECT_EQ(planned(result, "a").change, Change::kBecomesShared);
    EXPECT_EQ(planned(result, "a").cpus_after, planned(result, "a").cpus_before);
    EXPECT_TRUE(result.next.memory.assignments.empty());
  }
}

TEST(Reconfigure, FullPcpusOnlyMovesContainersThatShareACore) {
  for (const Profile profile : kTestedProfiles) {
    const Config off = with(aligning_config("none"), profile);
    const Node from = node_of(smt_machine(), off);
    const Node to = node_of(smt_machine(), with_option(off, "full-pcpus-only"));
    NodeState state = state_with(from, {sized("a", 2), sized("b", 2)});
    // Each has one CPU of core 1 and one of core 2.
    state.cpu.default_set |= CpuSet::range(1, 15);
    state.cpu.assignments[{PodUid("a"), "c"}] = {1, 2};
    state.cpu.assignments[{PodUid("b"), "c"}] = {9, 10};
    state.cpu.default_set -= {1, 2, 9, 10};
    const auto result = checked_plan(from, state, to);
    EXPECT_EQ(result.cost, (PlanCost{0, 0, 2, 2, 0})) << describe(result);
    for (const char* const name : {"a", "b"}) {
      const std::string after = cpus(planned(result, name).cpus_after);
      EXPECT_TRUE(after == "1,9" || after == "2,10") << after;
    }
  }
}

TEST(Reconfigure, FullPcpusOnlyKeepsAnOddNumberOfCpusAgainstTheRules) {
  for (const Profile profile : kTestedProfiles) {
    const Config off = with(aligning_config("none"), profile);
    const Node from = node_of(smt_machine(), off);
    const Node to = node_of(smt_machine(), with_option(off, "full-pcpus-only"));
    const NodeState state = state_with(from, {sized("a", 3)});
    const auto result = checked_plan(from, state, to);
    const auto a = planned(result, "a");
    EXPECT_EQ(a.change, Change::kKeptAgainstRules);
    EXPECT_EQ(a.cpus_after, a.cpus_before);
    ASSERT_TRUE(a.rejection);
    EXPECT_EQ(a.rejection->message,
              "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
    EXPECT_EQ(result.cost, (PlanCost{0, 1, 0, 0, 0}));

    const auto evicting = checked_plan(from, state, to, {.evict = true});
    EXPECT_EQ(planned(evicting, "a").change, Change::kEvicted);
    EXPECT_EQ(evicting.evicted, std::vector{PodUid("a")});
    EXPECT_EQ(evicting.next.pods.size(), 0U);
  }
}

TEST(Reconfigure, PreferencesMoveNothing) {
  // These options choose which CPUs are taken first; any CPUs are allowed with and without them.
  for (const char* const option :
       {"distribute-cpus-across-numa", "align-by-socket", "distribute-cpus-across-cores",
        "prefer-align-cpus-by-uncorecache", "full-pcpus-only"}) {
    for (const Profile profile : kTestedProfiles) {
      Config off = with(aligning_config("best-effort"), profile);
      off.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
      const Node plain = node_of(smt_machine(), off);
      const Node preferring = node_of(smt_machine(), with_option(off, option));
      const bool is_rule = std::string(option) == "full-pcpus-only";
      for (const bool on : {true, false}) {
        if (on && is_rule) continue;
        const Node& from = on ? plain : preferring;
        const Node& to = on ? preferring : plain;
        const auto result =
            checked_plan(from, state_with(from, {sized("a", 4), sized("b", 2)}), to);
        EXPECT_EQ(result.cost, PlanCost{}) << option << " on " << on << "\n" << describe(result);
      }
    }
  }
}

TEST(Reconfigure, StrictReservationTakesReservedCpusOutOfTheSharedPool) {
  for (const Profile profile : kTestedProfiles) {
    const Config off = with(aligning_config("none"), profile);
    const Node lax = node_of(smt_machine(), off);
    const Node strict = node_of(smt_machine(), with_option(off, "strict-cpu-reservation"));
    const auto on = checked_plan(lax, state_with(lax, {sized("a", 2)}), strict);
    EXPECT_EQ(on.cost, PlanCost{});
    EXPECT_FALSE(on.next.cpu.default_set.contains(CpuId{0}));
    const auto back = checked_plan(strict, on.next, lax);
    EXPECT_EQ(back.cost, PlanCost{});
    EXPECT_TRUE(back.next.cpu.default_set.contains(CpuId{0}));
  }
}

TEST(Reconfigure, StrictReservationOfAKubeletNeedsASharedPool) {
  const Config off = with(aligning_config("none"), Profile::kKubelet136);
  const Node from = node_of(smt_machine(), off);
  const NodeState state = state_with(from, {sized("a", 8), sized("b", 7)});
  const Config strict = with_option(off, "strict-cpu-reservation");
  const auto kubelet = checked_plan(from, state, node_of(smt_machine(), strict));
  EXPECT_EQ(kubelet.cost.pods_evicted, 1U) << describe(kubelet);
  const auto fixed =
      checked_plan(from, state, node_of(smt_machine(), with(strict, Profile::kFixed)));
  EXPECT_EQ(fixed.cost, PlanCost{}) << describe(fixed);
}

/// 15 CPUs are allocatable, then 12. The managers ignore shared pods.
TEST(Reconfigure, NamesPodsThatExceedWhatIsAllocatable) {
  const auto shared = [](const std::string& uid, const std::string& cpus) {
    PodSpec spec = pod(uid, {{"cpu", cpus}, {"memory", "1Gi"}});
    spec.containers.front().resources.limits.clear();
    return spec;
  };
  Config config = with(aligning_config("none"), Profile::kKubelet136);
  const Node from = node_of(smt_machine(), config);
  const NodeState state =
      state_with(from, {sized("a", 4), shared("b", "6"), shared("c", "4"), shared("d", "1")});
  EXPECT_TRUE(checked_plan(from, state, from).short_of_requests.empty());
  config.reserved_system_cpus = "0-3";
  const auto kubelet = checked_plan(from, state, node_of(smt_machine(), config));
  EXPECT_EQ(kubelet.cost.pods_evicted, 0U);
  ASSERT_EQ(kubelet.short_of_requests.size(), 1U) << describe(kubelet);
  EXPECT_EQ(kubelet.short_of_requests.front().pod, PodUid("c"));
  EXPECT_EQ(kubelet.short_of_requests.front().why.reason, "OutOfcpu");
  const auto fixed =
      checked_plan(from, state, node_of(smt_machine(), with(config, Profile::kFixed)));
  EXPECT_TRUE(fixed.short_of_requests.empty());
}

/// A container on two NUMA nodes.
NodeState spread(const Node& node) {
  NodeState state = state_with(node, {sized("a", 2)});
  state.cpu.default_set |= state.cpu.assignments[{PodUid("a"), "c"}];
  state.cpu.assignments[{PodUid("a"), "c"}] = {1, 5};
  state.cpu.default_set -= {1, 5};
  return state;
}

TEST(Reconfigure, TopologyPolicyMovesWhatItWouldReject) {
  for (const Profile profile : kTestedProfiles) {
    const Node from = node_of(smt_machine(), with(aligning_config("none"), profile));
    for (const char* const policy : {"restricted", "single-numa-node"}) {
      const Node to = node_of(smt_machine(), with(aligning_config(policy), profile));
      const auto result = checked_plan(from, spread(from), to);
      EXPECT_EQ(planned(result, "a").change, Change::kMoved);
      EXPECT_EQ(result.cost, (PlanCost{0, 0, 1, 1, 0})) << describe(result);
      EXPECT_EQ(planned(result, "a").why, "the rules would not admit it with its CPUs and memory");
    }
    const Node to = node_of(smt_machine(), with(aligning_config("best-effort"), profile));
    EXPECT_EQ(checked_plan(from, spread(from), to).cost, PlanCost{});
  }
}

TEST(Reconfigure, TopologyPolicyKeepsAgainstTheRulesWhatNoNumaNodeCanHave) {
  for (const Profile profile : kTestedProfiles) {
    const Node from = node_of(smt_machine(), with(aligning_config("none"), profile));
    const Node to = node_of(smt_machine(), with(aligning_config("single-numa-node"), profile));
    const auto result = checked_plan(from, state_with(from, {sized("a", 10), sized("b", 2)}), to);
    EXPECT_EQ(planned(result, "a").change, Change::kKeptAgainstRules);
    ASSERT_TRUE(planned(result, "a").rejection);
    EXPECT_EQ(planned(result, "a").rejection->reason, kAffinityError);
    EXPECT_EQ(planned(result, "b").change, Change::kKept);
  }
}

TEST(Reconfigure, ScopePodAlignsTheContainersOfAPod) {
  for (const Profile profile : kTestedProfiles) {
    const Node from = node_of(smt_machine(), with(aligning_config("single-numa-node"), profile));
    const Node to =
        node_of(smt_machine(), with(aligning_config("single-numa-node", "pod"), profile));
    const Amounts six = {{"cpu", "6"}, {"memory", "1Gi"}};
    const Amounts two = {{"cpu", "2"}, {"memory", "1Gi"}};
    const PodSpec spec = pod_of("a", {container("big", six), container("small", two)});
    // 7 CPUs are free on NUMA node 0: the pod fits on NUMA node 1 only.
    const auto result = checked_plan(from, state_with(from, {spec}), to);
    EXPECT_EQ(result.cost.pods_against_rules, 0U) << describe(result);
    const auto& node = to.machine().cpus_of_numa(1);
    for (const char* const name : {"big", "small"}) {
      EXPECT_TRUE(node.contains_all(planned(result, "a", name).cpus_after.value_or(CpuSet{})))
          << describe(result);
    }
    const auto back = checked_plan(to, result.next, from);
    EXPECT_EQ(back.cost, PlanCost{}) << describe(back);
  }
}

/// A standard init container may have CPUs of a later container as well as other CPUs.
TEST(Reconfigure, AnInitContainerIsPlacedOnCpusOfItsPodAndOnOthers) {
  for (const Profile profile : kTestedProfiles) {
    Config on = with_option(with(aligning_config("restricted", "pod"), profile), "full-pcpus-only");
    on.cpu_manager_policy_options["distribute-cpus-across-numa"] = "true";
    on.reserved_system_cpus = "0-1";
    const Machine machine = machine_of({.numa = 2, .cpus = 3, .gib = 8});
    const Node from = node_of(machine, without_cpu_manager(on));
    const Node to = node_of(machine, on);
    const auto one = [](const char* name, const char* cpus, ContainerKind kind) {
      return container(name, {{"cpu", cpus}, {"memory", "1Gi"}}, kind);
    };
    const PodSpec many =
        pod_of("b", {one("c0", "1", ContainerKind::kInit), one("c1", "2", ContainerKind::kSidecar),
                     one("c2", "1", ContainerKind::kInit)});
    const auto result = checked_plan(from, state_with(from, {sized("a", 1), many}), to);
    EXPECT_EQ(result.cost, PlanCost{}) << describe(result);
    EXPECT_TRUE(result.optimal);
  }
}

TEST(Reconfigure, PodLevelGateGivesAndTakesTheCpusOfThePod) {
  for (const Profile profile : kTestedProfiles) {
    Config off = with(with_memory_manager(aligning_config("restricted", "pod")), profile);
    off.feature_gates["PodLevelResourceManagers"] = false;
    Config on = off;
    on.feature_gates["PodLevelResourceManagers"] = true;
    const Node shares = node_of(smt_machine(), off);
    const Node manages = node_of(smt_machine(), on);
    PodSpec spec =
        pod_of("a", {container("own", {{"cpu", "1"}, {"memory", "1Gi"}}), container("rest", {})});
    spec.resources = container("", {{"cpu", "3"}, {"memory", "3Gi"}}).resources;
    const auto given = checked_plan(shares, state_with(shares, {spec}), manages);
    EXPECT_EQ(planned(given, "a", "own").change, Change::kBecomesExclusive);
    EXPECT_EQ(given.next.cpu.pods.at(PodUid("a")).size(), 3U);
    EXPECT_EQ(given.next.memory.pods.at(PodUid("a")).front().size, std::uint64_t{3} << 30U);
    const auto taken = checked_plan(manages, given.next, shares);
    EXPECT_EQ(planned(taken, "a", "own").change, Change::kBecomesShared);
    EXPECT_TRUE(taken.next.cpu.pods.empty());
    EXPECT_TRUE(taken.next.memory.pods.empty());
  }
}

TEST(Reconfigure, OfAPodManagedAsAWholeOnlyTheContainerMovesThatLosesCpus) {
  for (const Profile profile : kTestedProfiles) {
    Config config = with(aligning_config("restricted", "pod"), profile);
    config.feature_gates["PodLevelResourceManagers"] = true;
    const Node from = node_of(smt_machine(), config);
    PodSpec spec = pod_of("a", {container("one", {{"cpu", "1"}, {"memory", "1Gi"}}),
                                container("two", {{"cpu", "1"}, {"memory", "1Gi"}})});
    spec.resources = container("", {{"cpu", "2"}, {"memory", "2Gi"}}).resources;
    const NodeState state = state_with(from, {spec});
    const CpuSet lost = *state.cpu.assignments.find({PodUid("a"), "one"});
    config.reserved_system_cpus = "0," + lost.to_string();
    const auto result = checked_plan(from, state, node_of(smt_machine(), config));
    EXPECT_EQ(planned(result, "a", "one").change, Change::kMoved);
    EXPECT_EQ(planned(result, "a", "two").change, Change::kKept);
    EXPECT_EQ(result.cost, (PlanCost{0, 0, 1, 1, 0})) << describe(result);
  }
}

TEST(Reconfigure, APodThatWasDividedOtherwiseIsDividedAgain) {
  Config config = aligning_config("restricted", "pod");
  config.feature_gates["PodLevelResourceManagers"] = true;
  const Node from = node_of(smt_machine(), with(config, Profile::kKubelet136));
  const Node to = node_of(smt_machine(), with(config, Profile::kFixed));
  const CpuSet both = divided(from, {}).cpu.pods.at(PodUid("a"));
  for (const CpuSet& first : {CpuSet{}, both}) {
    const auto result = checked_plan(from, divided(from, first), to);
    const CpuSet one = planned(result, "a", "one").cpus_after.value_or(CpuSet{});
    const CpuSet two = planned(result, "a", "two").cpus_after.value_or(CpuSet{});
    EXPECT_EQ(one.size(), 1U) << describe(result);
    EXPECT_EQ(one | two, both) << describe(result);
  }
}

/// x has a CPU on the wrong NUMA node and moves to y's CPU.
TEST(Reconfigure, AContainerThatMakesRoomIsNotSaidToBreakTheRules) {
  const PodSpec pod = pod_of("a", {container("x", {{"cpu", "4"}, {"memory", "1Gi"}}),
                                   container("y", {{"cpu", "1"}, {"memory", "1Gi"}})});
  const Machine machine = machine_of({.numa = 2, .cpus = 4, .gib = 8});
  const Node from = node_of(machine, aligning_config("none"));
  const Node to = node_of(machine, aligning_config("single-numa-node"));
  NodeState state = state_with(from, {pod});
  state.cpu.assignments[{pod.uid, "x"}] = {1, 4, 5, 7};
  state.cpu.assignments[{pod.uid, "y"}] = {6};
  state.cpu.default_set = {0, 2, 3};
  const auto result = checked_plan(from, state, to);
  EXPECT_EQ(planned(result, "a", "x").why, "the rules would not admit it with its CPUs and memory");
  EXPECT_EQ(planned(result, "a", "y").change, Change::kMoved);
  EXPECT_EQ(planned(result, "a", "y").why, "other containers need its resources");
}

TEST(Reconfigure, ProfileToProfileMovesNothing) {
  for (const Profile one : kProfiles) {
    for (const Profile other : kProfiles) {
      const Config config = with_memory_manager(aligning_config("restricted"));
      const Node from = node_of(smt_machine(), with(config, one));
      const Node to = node_of(smt_machine(), with(config, other));
      const auto result = checked_plan(from, state_with(from, {sized("a", 4), sized("b", 3)}), to);
      EXPECT_EQ(result.cost, PlanCost{}) << describe(result);
      EXPECT_EQ(result.next.pods.size(), 2U);
    }
  }
}

}  // namespace
}  // namespace pinfold::test
