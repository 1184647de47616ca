#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../support/cpu_fixture.hpp"

namespace pinfold::test {
namespace {

using testing::HasSubstr;

// Two sockets of four SMT cores: {0,8} to {3,11} on socket 0, {4,12} to {7,15} on socket 1.
const Shape kTwoSockets{.sockets = 2};

Rig rig(const Options& options = {}, const NodeReservation& reservation = reserve_set({0})) {
  return {machine_of(kTwoSockets), static_policy(options), reservation};
}

TEST(CpuAllocate, PacksWholeSocketsThenCoresThenThreads) {
  Rig r = rig();
  EXPECT_EQ(r.admit("a", 1), "8");          // the free thread of a partly used core
  EXPECT_EQ(r.admit("b", 8), "4-7,12-15");  // a whole socket
  EXPECT_EQ(r.admit("c", 3), "1-2,9");      // a whole core and a thread
  EXPECT_EQ(r.admit("d", 1), "10");         // again the free thread of a core
  EXPECT_EQ(r.state.default_set.to_string(), "0,3,11");
}

TEST(CpuAllocate, TakesTheAffinityFirstAndTheRestElsewhere) {
  Rig r = rig();
  EXPECT_EQ(r.admit("a", 2, {NumaMask::of(1), true}), "4,12");
  EXPECT_EQ(r.admit("b", 7, {NumaMask::of(1), true}), "5-8,13-15");
}

TEST(CpuAllocate, FitsExactlyAndNotOneMore) {
  Rig r = rig();
  const CpuState before = r.state;
  EXPECT_EQ(r.admit("a", 16), "UnexpectedAdmissionError");
  EXPECT_EQ(r.state, before);
  EXPECT_EQ(r.admit("a", 15), "1-15");
  EXPECT_EQ(r.state.default_set.to_string(), "0");
}

TEST(CpuAllocate, NamesRequestAndRestWhenExhausted) {
  Rig r = rig();
  r.admit("a", 12);
  const PodSpec pod = pod_with("b", 4);
  const auto done = r.manager().allocate(r.state, pod, pod.containers[0], {}, &r.trace);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message,
            "Allocate failed due to not enough cpus available to satisfy request: requested=4, "
            "available=3, which is unexpected");
  EXPECT_EQ(r.trace.facts.back().text,
            "needs 4, 3 free in the shared pool outside the reserved CPU 0");
}

TEST(CpuAllocate, OnlyWholeCpusOfGuaranteedPodsAreExclusive) {
  Rig r = rig();
  EXPECT_EQ(r.admit(pod_of("fraction", {exclusive("c", 1500)}), "c"), "shared");
  PodSpec burstable = pod_with("burstable", 2);
  burstable.containers[0].resources.limits.clear();
  EXPECT_EQ(r.admit(burstable, "c"), "shared");
  EXPECT_EQ(r.admit(pod_of("mixed", {exclusive("c", 1500), exclusive("d", 2000)}), "d"), "1,9");
}

TEST(CpuAllocate, InitContainersLeaveTheirCpusToThePod) {
  Rig r = rig();
  const PodSpec pod = pod_of("a", {exclusive("i", 4000, ContainerKind::kInit), exclusive("c", 2000),
                                   exclusive("d", 4000)});
  EXPECT_EQ(r.admit(pod, "i"), "1-2,9-10");
  EXPECT_EQ(r.state.assignments.find({PodUid("a"), "c"})->to_string(), "1,9");
  EXPECT_EQ(r.state.assignments.find({PodUid("a"), "d"})->to_string(), "2-3,10-11");
  EXPECT_EQ(r.admit("b", 1), "8") << "not from the init container of another pod";
}

/// After a restart a kubelet admits running pods again, but no longer knows which CPUs are
/// reusable.
TEST(CpuAllocate, InitContainersThatHaveCpusLeaveThemToThePodAfterARestart) {
  Rig r = rig();
  const PodSpec pod =
      pod_of("a", {exclusive("i", 4000, ContainerKind::kInit), exclusive("c", 2000)});
  ASSERT_TRUE(r.manager().allocate(r.state, pod, pod.containers[0], {}, nullptr));
  r.state = CpuState{r.state.checkpoint()};
  EXPECT_EQ(r.admit(pod, "c"), "1,9");
}

TEST(CpuAllocate, SidecarsKeepTheirCpus) {
  Rig r = rig();
  const PodSpec pod =
      pod_of("a", {exclusive("s", 2000, ContainerKind::kSidecar), exclusive("c", 2000)});
  r.admit(pod, "c");
  EXPECT_FALSE(r.state.assignments.find({PodUid("a"), "s"})
                   ->intersects(*r.state.assignments.find({PodUid("a"), "c"})));
}

TEST(CpuAllocate, KeepsExistingAssignments) {
  Rig r = rig();
  r.admit("a", 2);
  const CpuState before = r.state;
  EXPECT_EQ(r.admit("a", 2), "1,9");
  EXPECT_EQ(r.state, before);
}

TEST(CpuAllocate, ExplainsInOneSentence) {
  Rig r = rig();
  r.admit("a", 11);
  EXPECT_EQ(r.trace.facts.back().source, "cpu");
  EXPECT_EQ(r.trace.facts.back().object, "c");
  EXPECT_EQ(
      r.trace.facts.back().text,
      "took CPUs 1,4-9,12-15 (11 of 15 free): whole NUMA node 1 (CPUs 4-7,12-15), whole cores "
      "(CPUs 1,9), a single CPU (CPU 8)");
}

TEST(CpuAllocate, ExplainsWhyAContainerShares) {
  Rig r = rig();
  const auto told = [&](const PodSpec& pod) {
    r.admit(pod, "c");
    return r.trace.facts.back().text;
  };
  EXPECT_EQ(told(pod_of("a", {exclusive("c", 1500)})),
            "runs in the shared pool, CPUs 0-15: its limit of 1500m is not a whole number of CPUs");
  PodSpec pod = pod_with("b", 2);
  pod.containers[0].resources.limits.clear();
  EXPECT_THAT(told(pod), HasSubstr("CPUs 0-15: its pod is Burstable, not Guaranteed: container c "
                                   "has cpu request 2 and no limit and memory request"));
  pod = pod_with("c", 2);
  pod.resources = pod.containers[0].resources;
  EXPECT_EQ(told(pod),
            "runs in the shared pool, CPUs 0-15: its pod has pod-level resources, and "
            "PodLevelResourceManagers is off");
}

TEST(CpuRemove, ReleasesWhatSiblingsDoNotUse) {
  Rig r = rig();
  const PodSpec pod =
      pod_of("a", {exclusive("i", 4000, ContainerKind::kInit), exclusive("c", 2000)});
  r.admit(pod, "c");
  r.manager().remove_container(r.state, {PodUid("a"), "i"});
  EXPECT_EQ(r.state.default_set.to_string(), "0,2-8,10-15");
  r.manager().remove_container(r.state, {PodUid("a"), "c"});
  EXPECT_EQ(r.state.default_set.to_string(), "0-15");
  EXPECT_TRUE(r.state.assignments.empty());
}

TEST(CpuRemove, UnknownNamesChangeNothing) {
  Rig r = rig();
  r.admit("a", 2);
  const CpuState before = r.state;
  r.manager().remove_container(r.state, {PodUid("a"), "x"});
  r.manager().remove_container(r.state, {PodUid("b"), "c"});
  EXPECT_EQ(r.state, before);
}

TEST(CpuFullPcpus, RejectsHalfCoresAndTooFewCores) {
  Rig r = rig({{"full-pcpus-only", "true"}});
  const auto message = [&](int cpus) {
    const PodSpec pod = pod_with("p", cpus);
    const auto done = r.manager().allocate(r.state, pod, pod.containers[0], {}, nullptr);
    return done ? "" : done.error().reason + ": " + done.error().message;
  };
  EXPECT_EQ(message(3),
            "SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = "
            "2");
  EXPECT_EQ(message(16),
            "SMTAlignmentError: SMT Alignment Error: not enough free physical CPUs: available "
            "physical CPUs = 14, requested CPUs = 16, CPUs per core = 2");
  EXPECT_EQ(message(14), "");
}

TEST(CpuAcrossCores, TakesOneThreadOfEachCoreFirst) {
  Rig r = rig({{"distribute-cpus-across-cores", "true"}});
  EXPECT_EQ(r.admit("a", 3), "1-3");
  EXPECT_EQ(r.admit("b", 4), "8-11");
  Rig fixed(machine_of(kTwoSockets),
            static_policy({{"distribute-cpus-across-cores", "true"}}, Profile::kFixed),
            reserve_set({0}));
  EXPECT_EQ(fixed.admit("a", 3), "1-2,8") << "CPU 8 is of the core of CPU 0";
  EXPECT_THAT(fixed.trace.facts.back().text, HasSubstr("single CPUs (CPUs 1-2,8)"));
}

TEST(CpuAcrossNuma, SpreadsOnlyWhenOneNodeIsTooSmall) {
  Rig r = rig({{"distribute-cpus-across-numa", "true"}});
  EXPECT_EQ(r.admit("a", 4), "4-5,12-13") << "the node with more free CPUs";
  EXPECT_EQ(r.admit("b", 10), "1-3,6-7,9-11,14-15") << "what is left allows no even shares of five";
  r.manager().remove_container(r.state, {PodUid("a"), "c"});
  r.manager().remove_container(r.state, {PodUid("b"), "c"});
  EXPECT_EQ(r.admit("c", 10), "1-2,4-6,8-10,12-13");
  EXPECT_THAT(r.trace.facts.back().text, HasSubstr("from NUMA node 1 CPUs"));
}

TEST(CpuAcrossNuma, KeepsCoresTogetherWithFullPcpus) {
  Rig r = rig({{"distribute-cpus-across-numa", "true"}, {"full-pcpus-only", "true"}},
              reserve_set({0, 8}));
  EXPECT_EQ(r.admit("a", 10), "1-2,4-6,9-10,12-14");
}

TEST(CpuByUncoreCache, PrefersOneCacheToThePackedOrder) {
  // Two caches of two cores: {0,4} {1,5} and {2,6} {3,7}; CPU 0 is reserved.
  const Shape shape{.caches_per_numa = 2, .cores_per_cache = 2};
  Rig packed(machine_of(shape), static_policy(), reserve_set({0}));
  EXPECT_EQ(packed.admit("a", 4), "1-2,5-6");
  Rig by_cache(machine_of(shape), static_policy({{"prefer-align-cpus-by-uncorecache", "true"}}),
               reserve_set({0}));
  EXPECT_EQ(by_cache.admit("a", 4), "2-3,6-7");
  EXPECT_EQ(by_cache.admit("b", 2), "1,5");
}

TEST(CpuBySocket, WidensTheAffinityToTheSocket) {
  const Shape shape{.sockets = 2, .numa_per_socket = 2, .cores_per_cache = 2};
  Rig r(machine_of(shape), static_policy({{"align-by-socket", "true"}}), reserve_set({0}));
  // NUMA nodes 2 and 3 form socket 1: cores 4 to 7.
  EXPECT_EQ(r.admit("a", 6, {NumaMask::of(2), true}), "4-6,12-14");
}

TEST(CpuStrict, KeepsReservedCpusOutOfTheSharedPool) {
  Rig r = rig({{"strict-cpu-reservation", "true"}});
  EXPECT_EQ(r.state.default_set.to_string(), "1-15");
  EXPECT_EQ(r.admit("a", 15), "1-15");
  EXPECT_EQ(r.state.default_set.to_string(), "");
  r.manager().remove_container(r.state, {PodUid("a"), "c"});
  EXPECT_EQ(r.state.default_set.to_string(), "1-15");
}

TEST(CpuNone, AssignsNothing) {
  Rig r(machine_of(kTwoSockets), Config{}, {});
  EXPECT_EQ(r.admit("a", 2), "shared");
  EXPECT_EQ(r.state, CpuState{});
}

TEST(CpuUsage, IsOfUnreservedCpus) {
  Rig r = rig({}, reserve_set({0, 8}));
  r.admit("a", 2);
  r.state.pods[PodUid("p")] = {4, 5};
  EXPECT_EQ(r.manager().usage(r.state),
            (std::vector<NumaUsage>{{NumaMask(0b01), 2, 6}, {NumaMask(0b10), 2, 8}}));
}

}  // namespace
}  // namespace pinfold::test
