#include <gtest/gtest.h>

#include "../../support/cpu_fixture.hpp"
#include "../../support/uneven_machine.hpp"

// The kubelet's known bugs, which the profile kubelet-1.36 reproduces and fixed corrects.
namespace pinfold::test {
namespace {

constexpr Profile kKubelet = Profile::kKubelet136;
constexpr Profile kFixed = Profile::kFixed;

TEST(CpuQuirks, CoresCountedBeforeKnownCpus) {
  const auto again = [](Profile profile) {
    Rig r(machine_of(Shape{}), static_policy({{"full-pcpus-only", "true"}}, profile),
          reserve_set({0, 4}));
    r.admit("a", 6);
    return r.admit("a", 6);
  };
  EXPECT_EQ(again(kKubelet), "SMTAlignmentError");
  EXPECT_EQ(again(kFixed), "1-3,5-7");
}

TEST(CpuQuirks, ResizeSplitsCaches) {
  const auto shrunk = [](Profile profile) {
    Shape shape;
    shape.caches_per_numa = 2;
    shape.adjacent = true;
    Rig r(machine_of(shape), static_policy({}, profile), reserve_set({0}));
    const ContainerId id{PodUid("a"), "c"};
    r.state.assignments[id] = CpuSet::parse("1-14").value();
    r.state.baselines[id] = {1};
    r.state.default_set = {0, 15};
    const PodSpec pod = pod_with("a", 4);
    const auto done = r.manager().resize(r.state, pod, pod.containers[0], {}, nullptr);
    return done ? r.state.assignments.find(id)->to_string() : done.error().message;
  };
  EXPECT_EQ(shrunk(Profile::kKubelet138), "1-3,14");
  EXPECT_EQ(shrunk(kFixed), "1-4");
}

TEST(CpuQuirks, EmptySharedPoolPreventsStart) {
  const auto restart = [](Profile profile) {
    Rig r(machine_of(Shape{}), static_policy({{"strict-cpu-reservation", "true"}}, profile),
          reserve_set({0, 4}));
    r.admit("a", 6);
    const auto started = r.manager().start(r.state);
    return started ? "" : started.error().message;
  };
  EXPECT_EQ(restart(kKubelet), "default cpuset cannot be empty");
  EXPECT_EQ(restart(kFixed), "");
}

TEST(CpuQuirks, StartWithAnEmptySharedPoolStillNeedsEveryCpu) {
  Rig r(machine_of(Shape{}), static_policy({{"strict-cpu-reservation", "true"}}, kFixed),
        reserve_set({0, 4}));
  r.admit("a", 6);
  r.state.assignments[{PodUid("a"), "c"}].erase(CpuId{1});
  EXPECT_FALSE(r.manager().start(r.state));
}

TEST(CpuQuirks, BestNumaCombinationOverwritten) {
  // Eight NUMA nodes of eight CPUs; 48 CPUs need six of them. The choice 0-5 is the first of many
  // equal ones, and its sixth member is in an array that later choices overwrite.
  const auto taken = [](Profile profile) {
    Rig r(machine_of(Shape{.sockets = 2, .numa_per_socket = 4}),
          static_policy({{"distribute-cpus-across-numa", "true"}}, profile), reserve_set({0}));
    return r.admit("a", 48);
  };
  EXPECT_EQ(taken(kFixed), "4-27,36-59");
  EXPECT_EQ(taken(kKubelet), "4-23,28-31,36-55,60-63");
}

TEST(CpuQuirks, AlignBySocketIgnoredInDistribution) {
  // Each socket has two NUMA nodes of four CPUs, with 3, 4, 3 and 4 of them free. The NUMA nodes
  // that leave the machine most balanced, those with 4, are on two sockets.
  const auto taken = [](Profile profile) {
    Rig r(machine_of(Shape{.sockets = 2, .numa_per_socket = 2, .threads = 1}),
          static_policy({{"distribute-cpus-across-numa", "true"}, {"align-by-socket", "true"}},
                        profile),
          reserve_set({0, 8}));
    return r.admit("a", 6);
  };
  EXPECT_EQ(taken(kKubelet), "4-6,12-14");
  EXPECT_EQ(taken(Profile::kKubelet137), "1-6");
  EXPECT_EQ(taken(kFixed), "1-6");
}

TEST(CpuQuirks, AffinityWidthIgnoredInDistribution) {
  const auto taken = [](Profile profile) {
    Rig r(machine_of(Shape{.sockets = 2, .numa_per_socket = 2, .threads = 1}),
          static_policy({{"distribute-cpus-across-numa", "true"}}, profile), reserve_set({0}));
    return r.admit("a", 4, {NumaMask(0b1110), true});
  };
  EXPECT_EQ(taken(kKubelet), "4-7") << "one NUMA node of three";
  EXPECT_EQ(taken(Profile::kKubelet137), "4-7");
  EXPECT_EQ(taken(Profile::kKubelet138), "4-5,8,12");
  EXPECT_EQ(taken(kFixed), "4-5,8,12");
}

TEST(CpuQuirks, AnAffinityWiderThanTheRequestDoesNotCount) {
  Rig r(machine_of(Shape{.sockets = 2, .numa_per_socket = 2, .threads = 1}),
        static_policy({{"distribute-cpus-across-numa", "true"}}, kFixed), reserve_set({0}));
  EXPECT_EQ(r.admit("a", 2, {NumaMask(0b1110), true}), "4-5") << "three nodes, two CPUs";
}

TEST(CpuQuirks, CoresSpreadByCpuNumber) {
  const auto taken = [](Profile profile) {
    Rig r(machine_of(Shape{.adjacent = true}),
          static_policy({{"distribute-cpus-across-cores", "true"}}, profile), reserve_set({0}));
    return r.admit("a", 3);
  };
  EXPECT_EQ(taken(kKubelet), "1-3") << "of two cores";
  EXPECT_EQ(taken(Profile::kKubelet137), "1-3");
  EXPECT_EQ(taken(Profile::kKubelet138), "1-2,4");
  EXPECT_EQ(taken(kFixed), "1-2,4");
}

TEST(CpuQuirks, RememberedNumaNodesCanBeOverwrittenByOneThatIsTooSmall) {
  const auto taken = [&](Profile profile) {
    Rig r(uneven_machine(), static_policy({{"distribute-cpus-across-numa", "true"}}, profile),
          reserve_set({0}));
    const PodSpec pod = pod_with("a", 8);
    const auto done = r.manager().allocate(r.state, pod, pod.containers[0], {}, nullptr);
    return done ? r.state.assignments.find({PodUid("a"), "c"})->to_string() : done.error().message;
  };
  EXPECT_EQ(taken(kKubelet),
            "Allocate failed due to accounting error, not enough CPUs allocated, remaining: 2, "
            "which is unexpected");
  // Kubelet 1.37 limits the share to the CPUs of the NUMA nodes, and never ends.
  EXPECT_EQ(taken(Profile::kKubelet137),
            "Allocate failed due to accounting error, not enough CPUs allocated, remaining: 4, "
            "which is unexpected");
  EXPECT_EQ(taken(Profile::kKubelet138), "1-2,4-5,7-8,10-11");
  EXPECT_EQ(taken(kFixed), "1-2,4-5,7-8,10-11");
}

TEST(CpuQuirks, LargeGroupTakenWithCpusInUse) {
  // Core {0,1} has two threads, 2 to 5 have one: the average is one.
  MachineDescription description = describe({.cores_per_cache = 6, .threads = 1});
  description.cpus[1].core = CoreId{0};
  const auto taken = [&](Profile profile) {
    Rig r(machine_of(description), static_policy({}, profile), reserve_set({0}));
    return r.admit("a", 2);
  };
  EXPECT_EQ(taken(kKubelet), "0-1") << "CPU 0 is reserved";
  EXPECT_EQ(taken(kFixed), "2-3");
}

TEST(CpuQuirks, SpanningGroupTakenTwice) {
  // Three caches, each with two CPUs of both NUMA nodes; CPUs 0 and 11 are reserved, so that only
  // cache {2,3,8,9} is free.
  MachineDescription description =
      describe({.numa_per_socket = 2, .cores_per_cache = 6, .threads = 1});
  for (Cpu& cpu : description.cpus) cpu.l3 = CacheId{cpu.id.value % 6 / 2};
  const auto taken = [&](Profile profile) {
    Rig r(machine_of(description),
          static_policy({{"prefer-align-cpus-by-uncorecache", "true"}}, profile),
          reserve_set({0, 11}));
    return r.admit("a", 8);
  };
  EXPECT_EQ(taken(kKubelet), "2-3,8-9") << "4 of 8 CPUs";
  EXPECT_EQ(taken(kFixed), "1-6,8-9");
}

/// A machine with one CPU per core; `cpus` has the socket and NUMA node of each.
Machine crossed_machine(std::initializer_list<std::pair<int, int>> cpus) {
  MachineDescription description;
  for (const auto& [socket, numa] : cpus) {
    const auto id = static_cast<std::int32_t>(description.cpus.size());
    description.cpus.push_back(
        {CpuId{id}, CoreId{id}, SocketId{socket}, NumaId{numa}, CacheId{numa}});
    const NumaNode node{NumaId{numa}, std::uint64_t{1} << 30U, {}, {}};
    if (numa == static_cast<int>(description.numa_nodes.size())) {
      description.numa_nodes.push_back(node);
    }
  }
  return machine_of(std::move(description));
}

TEST(CpuQuirks, NumaNodeThatSpansSocketsCountsOnce) {
  // NUMA node 1 is on both sockets, so it is listed under both.
  const auto taken = [](Profile profile, int count) {
    Rig r(crossed_machine({{0, 0}, {0, 0}, {0, 1}, {0, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 2}}),
          static_policy({{"distribute-cpus-across-numa", "true"}}, profile), reserve_set({0}));
    return r.admit("a", count);
  };
  for (const Profile profile : kProfiles) {
    EXPECT_EQ(taken(profile, 4), "2-3,6-7") << to_string(profile);
    EXPECT_EQ(taken(profile, 5), "2-4,6-7") << to_string(profile);
    EXPECT_EQ(taken(profile, 7), "1-7") << to_string(profile);
  }
}

TEST(CpuQuirks, SingleCpusOfASocketListedTwice) {
  // Socket 0 has a CPU of NUMA node 1 and two of NUMA node 0, so its cores are listed twice.
  MachineDescription description;
  const auto add = [&](int core, int socket, int numa) {
    const auto id = static_cast<std::int32_t>(description.cpus.size());
    description.cpus.push_back(
        {CpuId{id}, CoreId{core}, SocketId{socket}, NumaId{numa}, CacheId{numa}});
  };
  for (int i = 0; i < 4; ++i) add(0, 1, 1);
  add(4, 0, 1);
  add(5, 0, 0);
  add(5, 0, 0);
  for (int numa = 0; numa < 2; ++numa) {
    description.numa_nodes.push_back({NumaId{numa}, std::uint64_t{1} << 30U, {}, {}});
  }
  const auto taken = [&](Profile profile) {
    Rig r(machine_of(description), static_policy({}, profile), reserve_set({6}));
    return r.admit("a", 3);
  };
  EXPECT_EQ(taken(kKubelet), "4-5") << "2 of 3 CPUs";
  EXPECT_EQ(taken(kFixed), "0,4-5");
}

TEST(CpuQuirks, CpusAcrossCoresOfASocketListedTwice) {
  // Socket 0 is on both NUMA nodes.
  for (const Profile profile : {Profile::kKubelet138, kFixed}) {
    Rig r(crossed_machine({{0, 0}, {0, 0}, {0, 1}, {0, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}),
          static_policy({{"distribute-cpus-across-cores", "true"}}, profile), reserve_set({0, 7}));
    EXPECT_EQ(r.admit("a", 5), "1-5") << to_string(profile);
  }
}

TEST(CpuQuirks, SiblingsOfReservedCpusAllocated) {
  const auto taken = [](Profile profile) {
    Rig r(machine_of(Shape{.sockets = 2, .cores_per_cache = 2}),
          static_policy({{"full-pcpus-only", "true"}}, profile), reserve_set({0, 1}));
    return r.admit("a", 2, {NumaMask::of(0), true});
  };
  EXPECT_EQ(taken(kKubelet), "4-5") << "of two cores";
  EXPECT_EQ(taken(kFixed), "2,6");
}

TEST(CpuQuirks, ReadmittedPodTakesCpusAgain) {
  const auto again = [](Profile profile) {
    Config config = static_policy({}, profile);
    config.feature_gates["PodLevelResourceManagers"] = true;
    Rig r(machine_of(Shape{.cores_per_cache = 8, .threads = 1}), config, reserve_set({0}));
    PodSpec pod = pod_of("p", {Container{"c", ContainerKind::kApp, {}}});
    pod.resources = exclusive("budget", 2000).resources;
    for (int i = 0; i < 2; ++i) {
      if (!r.manager().allocate_pod(r.state, pod, {}, nullptr)) return std::string("rejected");
    }
    const auto hints = r.manager().pod_hints(r.state, pod);
    return r.state.default_set.to_string() + (hints.at("cpu")->empty() ? ", impossible" : "");
  };
  EXPECT_EQ(again(kKubelet), "0,5-7, impossible") << "CPUs 1-2 belong to nobody";
  EXPECT_EQ(again(Profile::kKubelet137), "0,5-7, impossible");
  EXPECT_EQ(again(Profile::kKubelet138), "0,3-7");
  EXPECT_EQ(again(kFixed), "0,3-7");
}

TEST(CpuQuirks, ReadmittedPodGetsTheAssignmentsThatAreMissing) {
  Config config = static_policy({}, kFixed);
  config.feature_gates["PodLevelResourceManagers"] = true;
  Rig r(machine_of(Shape{.cores_per_cache = 8, .threads = 1}), config, reserve_set({0}));
  PodSpec pod = pod_of(
      "p", {exclusive("a", 1000), exclusive("b", 2000), Container{"c", ContainerKind::kApp, {}}});
  pod.resources = exclusive("budget", 5000).resources;
  r.state.default_set = {0, 6, 7};
  r.state.pods[pod.uid] = CpuSet::range(1, 5);
  r.state.assignments[{pod.uid, "b"}] = {1, 2};
  ASSERT_TRUE(r.manager().allocate_pod(r.state, pod, {}, nullptr));
  const std::map<std::string, CpuSet> want = {{"a", {3}}, {"b", {1, 2}}, {"c", {4, 5}}};
  EXPECT_EQ(r.state.assignments.by_pod(), (ContainerMap<CpuSet>::ByPod{{pod.uid, want}}));
  EXPECT_EQ(r.state.default_set.to_string(), "0,6-7");
}

TEST(CpuQuirks, CpusOfEmptyPodStayTaken) {
  const auto restart = [](Profile profile) {
    Config config = static_policy({}, profile);
    config.feature_gates["PodLevelResourceManagers"] = true;
    Rig r(machine_of(Shape{}), config, reserve_set({0, 4}));
    r.state.pods[PodUid("p")] = {1, 5};
    r.state.default_set -= r.state.pods[PodUid("p")];
    return r.manager().start(r.state) ? r.state.default_set.to_string() : "refused";
  };
  EXPECT_EQ(restart(kKubelet), "0,2-4,6-7");
  EXPECT_EQ(restart(kFixed), "0-7");
}

}  // namespace
}  // namespace pinfold::test
