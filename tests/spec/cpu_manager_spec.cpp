// The rules that Kubernetes documents for the CPU manager ("Node resource managers", policies for
// assigning CPUs to Pods), one test for each sentence, under the profile kubelet-1.36.

#include <gtest/gtest.h>

#include <set>

#include "../support/cpu_fixture.hpp"
#include "pinfold/decide/decide.hpp"

namespace pinfold::test {
namespace {

// Two sockets, each a NUMA node with two caches of two SMT cores:
// {0,8} {1,9} | {2,10} {3,11} and {4,12} {5,13} | {6,14} {7,15}.
const Shape kShape{.sockets = 2, .caches_per_numa = 2, .cores_per_cache = 2};

Rig rig(const Options& options = {}, const NodeReservation& reservation = reserve_set({0, 8})) {
  return {machine_of(kShape), static_policy(options), reservation};
}

/// The CPUs of the container of a pod written as YAML, after the API server's defaults.
std::string admit_yaml(Rig& r, const std::string& resources) {
  const std::string yaml =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: nginx, uid: nginx}\nspec:\n  containers:\n"
      "  - name: nginx\n    image: nginx\n" +
      resources;
  PodSpec pod = parse_pod(yaml).value();
  apply_defaults(pod);
  return r.admit(pod, "nginx");
}

std::string make_error(const Shape& shape, const Config& config,
                       const NodeReservation& reservation = reserve_count(1000)) {
  const Machine machine = machine_of(shape);
  const auto manager = CpuManager::make(machine, config, reservation);
  return manager ? "" : manager.error().message;
}

std::set<std::int32_t> groups_of(const Machine& machine, const CpuSet& cpus,
                                 std::int32_t Machine::CpuGroups::*level) {
  std::set<std::int32_t> groups;
  for (const CpuId cpu : cpus) groups.insert(machine.groups_of(cpu).*level);
  return groups;
}

/// The groups of a level in which container "c" of a pod has CPUs.
std::set<std::int32_t> groups_of(const Rig& r, const std::string& uid,
                                 std::int32_t Machine::CpuGroups::*level) {
  return groups_of(r.machine(), *r.state.assignments.find({PodUid(uid), "c"}), level);
}

constexpr auto kCore = &Machine::CpuGroups::core;
constexpr auto kSocket = &Machine::CpuGroups::socket;
constexpr auto kCache = &Machine::CpuGroups::cache;
constexpr auto kNuma = &Machine::CpuGroups::numa;

TEST(CpuManagerSpec, NonePolicyGivesNoAffinity) {
  Rig r(machine_of(kShape), Config{}, {});
  EXPECT_EQ(r.admit("a", 2), "shared");
}

TEST(CpuManagerSpec, StaticPolicyGivesExclusiveCpusToGuaranteedPodsWithIntegerRequests) {
  Rig r = rig();
  EXPECT_EQ(r.admit("a", 2), "1,9");
  EXPECT_EQ(r.admit("b", 2), "2,10");
}

TEST(CpuManagerSpec, ChangedCpusAreDetectedAtTheNextStart) {
  Rig r = rig();
  MachineDescription smaller = describe(kShape);
  smaller.cpus.pop_back();
  const Machine machine = machine_of(smaller);
  const CpuManager manager =
      CpuManager::make(machine, static_policy(), reserve_set({0, 8})).value();
  EXPECT_FALSE(manager.start(r.state));
}

TEST(CpuManagerSpec, SharedPoolHoldsAllCpusAtFirst) {
  EXPECT_EQ(rig().state.default_set, machine_of(kShape).all_cpus());
}

TEST(CpuManagerSpec, ExclusivelyAllocatableIsEverythingButTheReserved) {
  Rig r = rig({}, reserve_count(3000));
  EXPECT_EQ(r.manager().allocatable().size(), 13U);
  EXPECT_EQ(r.admit("a", 14), "UnexpectedAdmissionError");
  EXPECT_EQ(r.admit("a", 13), r.manager().allocatable().to_string());
}

TEST(CpuManagerSpec, ReservedCpusAreWholeAndTakenInOrderOfTheirCores) {
  EXPECT_EQ(rig({}, reserve_count(1500)).manager().reserved().to_string(), "0,8");
  EXPECT_EQ(rig({}, reserve_count(4000)).manager().reserved().to_string(), "0-1,8-9");
}

TEST(CpuManagerSpec, ReservationMustBeGreaterThanZero) {
  EXPECT_EQ(make_error(kShape, static_policy(), reserve_count(0)),
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be "
            "greater than zero");
}

TEST(CpuManagerSpec, ExclusiveCpusLeaveTheSharedPool) {
  Rig r = rig();
  r.admit("a", 2);
  EXPECT_EQ(r.state.default_set.to_string(), "0,2-8,10-15");
}

TEST(CpuManagerSpec, ExclusiveContainersHaveNoQuota) {
  Config config = static_policy();
  config.reserved_system_cpus = "0,8";
  const Node node = Node::make(machine_of(kShape), config).value();
  NodeState state;
  ASSERT_TRUE(node.cpu().start(state.cpu));
  const PodSpec pod = pod_of("a", {exclusive("c", 2000)});
  const Decision decision = decide(node, state, pod);
  ASSERT_TRUE(std::holds_alternative<Admitted>(decision));
  const auto resources =
      container_resources(node, std::get<Admitted>(decision).next, {PodUid("a"), "c"});
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->linux_resources.cpu_quota, -1);
}

TEST(CpuManagerSpec, ExclusiveContainersHaveAsManyCpusAsTheirLimit) {
  for (int cpus = 1; cpus <= 14; ++cpus) {
    Rig r = rig();
    r.admit("a", cpus);
    EXPECT_EQ(static_cast<int>(r.state.assignments.find({PodUid("a"), "c"})->size()), cpus);
  }
}

TEST(CpuManagerSpec, BestEffortPodsShare) {
  Rig r = rig();
  EXPECT_EQ(admit_yaml(r, ""), "shared");
}

TEST(CpuManagerSpec, BurstablePodsWithoutCpuShare) {
  Rig r = rig();
  EXPECT_EQ(admit_yaml(r,
                       "    resources:\n      limits: {memory: 200Mi}\n"
                       "      requests: {memory: 100Mi}\n"),
            "shared");
}

TEST(CpuManagerSpec, BurstablePodsWithIntegerCpuShare) {
  Rig r = rig();
  EXPECT_EQ(admit_yaml(r,
                       "    resources:\n      limits: {memory: 200Mi, cpu: '2'}\n"
                       "      requests: {memory: 100Mi, cpu: '1'}\n"),
            "shared");
}

TEST(CpuManagerSpec, GuaranteedPodsWithIntegerCpuAreExclusive) {
  Rig r = rig();
  EXPECT_EQ(admit_yaml(r,
                       "    resources:\n      limits: {memory: 200Mi, cpu: '2'}\n"
                       "      requests: {memory: 200Mi, cpu: '2'}\n"),
            "1,9");
}

TEST(CpuManagerSpec, GuaranteedPodsWithFractionalCpuShare) {
  Rig r = rig();
  EXPECT_EQ(admit_yaml(r,
                       "    resources:\n      limits: {memory: 200Mi, cpu: '1.5'}\n"
                       "      requests: {memory: 200Mi, cpu: '1.5'}\n"),
            "shared");
}

TEST(CpuManagerSpec, OmittedRequestsEqualTheLimits) {
  Rig r = rig();
  EXPECT_EQ(admit_yaml(r, "    resources:\n      limits: {memory: 200Mi, cpu: '2'}\n"), "1,9");
}

TEST(CpuManagerSpec, AlphaOptionsAreHiddenByDefault) {
  for (const char* option : {"align-by-socket", "distribute-cpus-across-cores"}) {
    Config config = static_policy({{option, "true"}});
    config.feature_gates.clear();
    EXPECT_NE(make_error(kShape, config), "") << option;
    config.feature_gates = {{"CPUManagerPolicyAlphaOptions", true}};
    EXPECT_EQ(make_error(kShape, config), "") << option;
  }
}

TEST(CpuManagerSpec, BetaOptionsAreVisibleByDefaultAndCanBeHidden) {
  // Of the three options that the text calls beta, v1.36.2 lets the gate hide only this one.
  Config config = static_policy({{"distribute-cpus-across-numa", "true"}});
  config.feature_gates.clear();
  EXPECT_EQ(make_error(kShape, config), "");
  config.feature_gates = {{"CPUManagerPolicyBetaOptions", false}};
  EXPECT_NE(make_error(kShape, config), "");
}

TEST(CpuManagerSpec, StableOptionsCannotBeHidden) {
  Config config = static_policy({{"full-pcpus-only", "true"}});
  config.feature_gates = {{"CPUManagerPolicyBetaOptions", false}};
  EXPECT_EQ(make_error(kShape, config), "");
}

TEST(CpuManagerSpec, WithoutFullPcpusContainersCanShareACore) {
  Rig r = rig();
  r.admit("a", 1);
  r.admit("b", 1);
  EXPECT_EQ(groups_of(r, "a", kCore), groups_of(r, "b", kCore));
}

TEST(CpuManagerSpec, FullPcpusOnlyAllocatesWholeCores) {
  Rig r = rig({{"full-pcpus-only", "true"}});
  EXPECT_EQ(r.admit("a", 4), "1-2,9-10");
  EXPECT_EQ(r.admit("b", 6), "3-5,11-13");
}

TEST(CpuManagerSpec, FullPcpusOnlyRejectsWhatIsNotWholeCoresWithSmtAlignmentError) {
  Rig r = rig({{"full-pcpus-only", "true"}});
  EXPECT_EQ(r.admit("a", 1), "SMTAlignmentError");
  EXPECT_EQ(r.admit(pod_of("b", {exclusive("c", 2000), exclusive("d", 3000)}), "d"),
            "SMTAlignmentError")
      << "every container has to fit";
}

TEST(CpuManagerSpec, ByDefaultOneNumaNodeIsFilledBeforeTheNext) {
  Rig r = rig();
  r.admit("a", 10);
  EXPECT_EQ((*r.state.assignments.find({PodUid("a"), "c"}) & r.machine().cpus_of_numa(1)).size(),
            8U);
}

TEST(CpuManagerSpec, DistributeAcrossNumaBalancesLargeRequests) {
  Rig r = rig({{"distribute-cpus-across-numa", "true"}});
  r.admit("a", 10);
  EXPECT_EQ((*r.state.assignments.find({PodUid("a"), "c"}) & r.machine().cpus_of_numa(0)).size(),
            5U);
  EXPECT_EQ((*r.state.assignments.find({PodUid("a"), "c"}) & r.machine().cpus_of_numa(1)).size(),
            5U);
}

TEST(CpuManagerSpec, DistributeAcrossNumaLeavesSmallRequestsOnOneNode) {
  Rig r = rig({{"distribute-cpus-across-numa", "true"}});
  r.admit("a", 6);
  EXPECT_EQ(groups_of(r, "a", kNuma).size(), 1U);
}

// Two sockets of two NUMA nodes, two SMT cores each.
const Shape kFourNodes{.sockets = 2, .numa_per_socket = 2, .cores_per_cache = 2};

TEST(CpuManagerSpec, ByDefaultNumaNodesOfTwoSocketsAreAsGoodAsOfOne) {
  Rig r(machine_of(kFourNodes), static_policy(), reserve_set({0, 8}));
  const ResourceHints hints = r.manager().pod_hints(r.state, pod_with("a", 6));
  for (const TopologyHint& hint : *hints.at("cpu")) {
    EXPECT_EQ(hint.preferred, hint.numa->count() == 2) << hint.numa->to_string();
  }
}

TEST(CpuManagerSpec, AlignBySocketAlignsAtTheSocket) {
  Rig r(machine_of(kFourNodes), static_policy({{"align-by-socket", "true"}}), reserve_set({0, 8}));
  r.admit("a", 6, {NumaMask::of(2), true});
  EXPECT_EQ(groups_of(r, "a", kSocket), std::set<std::int32_t>{1});
}

TEST(CpuManagerSpec, AlignBySocketIsNotForSingleNumaNode) {
  Config config = static_policy({{"align-by-socket", "true"}});
  config.topology_manager_policy = "single-numa-node";
  EXPECT_NE(make_error(kFourNodes, config), "");
}

TEST(CpuManagerSpec, AlignBySocketIsNotForMoreSocketsThanNumaNodes) {
  MachineDescription description = describe(kShape);
  for (Cpu& cpu : description.cpus) cpu.numa = NumaId{0};
  const Machine machine = machine_of(description);
  EXPECT_FALSE(
      CpuManager::make(machine, static_policy({{"align-by-socket", "true"}}), reserve_count(1000)));
}

TEST(CpuManagerSpec, ByDefaultCpusArePackedOntoAsFewCoresAsPossible) {
  Rig r = rig();
  r.admit("a", 4);
  EXPECT_EQ(groups_of(r, "a", kCore).size(), 2U);
}

TEST(CpuManagerSpec, DistributeAcrossCoresUsesAsManyCoresAsPossible) {
  Rig r = rig({{"distribute-cpus-across-cores", "true"}}, reserve_set({0}));
  r.admit("a", 3);
  EXPECT_EQ(groups_of(r, "a", kCore).size(), 3U);
}

TEST(CpuManagerSpec, DistributeAcrossCoresStillAdmitsWithTooFewCores) {
  Rig r = rig({{"distribute-cpus-across-cores", "true"}});
  r.admit("a", 14);
  EXPECT_EQ(r.state.assignments.find({PodUid("a"), "c"})->size(), 14U);
  EXPECT_EQ(groups_of(r, "a", kCore).size(), 7U);
}

TEST(CpuManagerSpec, ByDefaultSharedContainersMayUseReservedCpus) {
  EXPECT_TRUE(rig().state.default_set.contains_all({0, 8}));
}

TEST(CpuManagerSpec, StrictReservationKeepsEveryPodOffReservedCpus) {
  Rig r = rig({{"strict-cpu-reservation", "true"}});
  EXPECT_FALSE(r.state.default_set.intersects({0, 8}));
  EXPECT_EQ(r.admit("a", 15), "UnexpectedAdmissionError");
}

TEST(CpuManagerSpec, ByDefaultAContainerCanSpanCaches) {
  Rig r = rig();
  r.admit("a", 4);
  EXPECT_EQ(groups_of(r, "a", kCache).size(), 2U);
}

TEST(CpuManagerSpec, UncoreCacheAlignmentStaysWithinOneCache) {
  Rig r = rig({{"prefer-align-cpus-by-uncorecache", "true"}});
  r.admit("a", 4);
  EXPECT_EQ(groups_of(r, "a", kCache).size(), 1U);
}

TEST(CpuManagerSpec, UncoreCacheAlignmentUsesAsFewCachesAsPossible) {
  Rig r = rig({{"prefer-align-cpus-by-uncorecache", "true"}});
  r.admit("a", 6);
  EXPECT_EQ(groups_of(r, "a", kCache).size(), 2U);
}

TEST(CpuManagerSpec, UncoreCacheAlignmentFallsBackToPacking) {
  Rig r = rig({{"prefer-align-cpus-by-uncorecache", "true"}});
  for (const char* uid : {"a", "b", "c"}) r.admit(uid, 3);
  r.admit("d", 4);  // two CPUs are left in one cache, and one in each other
  EXPECT_EQ(groups_of(r, "d", kCache).size(), 3U);
}

}  // namespace
}  // namespace pinfold::test
