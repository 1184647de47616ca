#include "pinfold/decide/linux_resources.hpp"

#include <gtest/gtest.h>

#include "fixture.hpp"

namespace pinfold {
namespace {

using test::node_of;
using test::pod_of;

TEST(CpuWeight, FollowsBothFormulas) {
  const struct {
    std::uint64_t shares;
    std::uint64_t kubelet;
    std::uint64_t runtime;
  } cases[] = {
      {2, 1, 1}, {1024, 39, 100}, {1280, 49, 120}, {4096, 157, 303}, {262144, 10000, 10000}};
  for (const auto& c : cases) {
    EXPECT_EQ(cpu_weight(c.shares), c.kubelet) << c.shares;
    EXPECT_EQ(cpu_weight_runtime(c.shares), c.runtime) << c.shares;
  }
}

TEST(CpuShares, AreThoseOfAThousandthOfACpu) {
  const struct {
    std::int64_t milli_cpu;
    std::uint64_t shares;
  } cases[] = {{-1, 2},          {0, 2},           {1, 2},
               {2, 2},           {3, 3},           {1000, 1024},
               {1500, 1536},     {255999, 262142}, {256000, 262144},
               {256001, 262144}, {262145, 262144}, {std::int64_t{1} << 62, 262144}};
  for (const auto& c : cases) EXPECT_EQ(cpu_shares(c.milli_cpu), c.shares) << c.milli_cpu;
}

struct Placed {
  ContainerResources container;
  LinuxResources pod;
};

Placed place(const Node& node, const PodSpec& pod) {
  Decision decision = decide(node, empty_state(node), pod);
  const NodeState& state = std::get<Admitted>(decision).next;
  return {container_resources(node, state, {pod.uid, "c1"}).value(),
          pod_resources(node, state, pod.uid).value()};
}

TEST(CpuQuota, IsOffOnlyForExclusiveCpus) {
  const std::string policy = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  const struct {
    const char* name;
    std::string config;
    const char* cpu;
    std::optional<std::int64_t> quota;
  } cases[] = {
      {"exclusive", policy, "2", -1},
      {"fraction", policy, "1500m", 150000},
      {"smallest", policy, "5m", 1000},
      {"gate off", policy + "featureGates: {DisableCPUQuotaWithExclusiveCPUs: false}", "2", 200000},
      {"quota off", policy + "cpuCFSQuota: false", "1500m", std::nullopt},
      {"own period", policy + "cpuCFSQuotaPeriod: 10ms", "1500m", 15000},
  };
  for (const auto& c : cases) {
    const Node node = node_of(c.config);
    EXPECT_EQ(place(node, pod_of("a", {{c.cpu, "1Gi"}})).container.linux_resources.cpu_quota,
              c.quota)
        << c.name;
  }
}

TEST(PodLimits, BindOnlyIfEveryContainerHasOne) {
  const Node node = node_of("cpuManagerPolicy: none");
  PodSpec pod = pod_of("a", {{"1", "1Gi"}, {"500m", "2Gi"}});
  EXPECT_EQ(place(node, pod).pod.memory_limit, std::int64_t{3} << 30);
  pod.containers[1].resources.limits.erase("memory");
  EXPECT_EQ(place(node, pod).pod.memory_limit, std::nullopt);
}

/// The kubelet adds up sidecars: after one with a limit the next ones need none.
TEST(PodLimits, OfSidecarsCountForThoseAfterThem) {
  const Node node = node_of("cpuManagerPolicy: none");
  const auto memory_limit = [&](std::vector<ContainerKind> kinds, std::size_t without) {
    PodSpec pod = pod_of("a", {{"1", "1Gi"}, {"1", "2Gi"}, {"1", "4Gi"}});
    for (std::size_t i = 0; i < kinds.size(); ++i) pod.containers[i].kind = kinds[i];
    pod.containers[without].resources.limits.erase("memory");
    return place(node, pod).pod.memory_limit.has_value();
  };
  using enum ContainerKind;
  EXPECT_TRUE(memory_limit({kSidecar, kInit}, 1));
  EXPECT_TRUE(memory_limit({kSidecar, kSidecar}, 1));
  EXPECT_FALSE(memory_limit({kSidecar, kInit}, 0));
  EXPECT_FALSE(memory_limit({kInit, kSidecar}, 0));
  EXPECT_FALSE(memory_limit({kInit, kInit}, 1));
  EXPECT_FALSE(memory_limit({kSidecar, kInit}, 2)) << "an app container";
}

TEST(PodLimits, OfCpusAreAQuota) {
  const Node node = node_of("cpuManagerPolicy: none");
  PodSpec pod = pod_of("a", {{"1", "1Gi"}, {"500m", "2Gi"}});
  pod.containers[0].resources.requests["memory"] = Quantity::bytes(1);  // burstable
  EXPECT_EQ(place(node, pod).pod.cpu_quota, 150000);
  pod.containers[1].resources.limits.erase("cpu");
  EXPECT_EQ(place(node, pod).pod.cpu_quota, std::nullopt);
  EXPECT_EQ(place(node, pod).pod.cpu_shares, 1536U);
}

TEST(PodLimits, HaveTheOverheadOfTheRuntimeClass) {
  const Node node = node_of("cpuManagerPolicy: none");
  PodSpec pod = pod_of("a", {{"1", "1Gi"}});
  pod.containers[0].resources.limits["cpu"] = Quantity::milli(1500);
  pod.overhead = {{"cpu", Quantity::milli(250)}, {"memory", Quantity::bytes(120 << 20)}};
  const Placed placed = place(node, pod);
  EXPECT_EQ(placed.pod.cpu_shares, 1280U);
  EXPECT_EQ(placed.pod.cpu_quota, 175000);
  EXPECT_EQ(placed.pod.memory_limit, (1024 + 120) << 20);
  EXPECT_EQ(placed.container.linux_resources.memory_limit, std::int64_t{1} << 30);
  pod.containers[0].resources.limits.clear();
  EXPECT_EQ(place(node, pod).pod.memory_limit, std::nullopt) << "overhead alone is no limit";
}

TEST(OomScoreAdj, OfNodeCriticalPodsIsThatOfGuaranteedOnes) {
  const Node node = node_of("cpuManagerPolicy: none");
  PodSpec pod = pod_of("a", {{"1", "1Gi"}});
  pod.containers[0].resources.limits.clear();
  EXPECT_EQ(place(node, pod).container.linux_resources.oom_score_adj, 938);
  pod.is_node_critical = true;
  EXPECT_EQ(place(node, pod).container.linux_resources.oom_score_adj, -997);
}

TEST(DecideQuirks, OomScoreAdjAbove1000) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    const Node node =
        node_of(std::string("pinfold: {profile: ") + std::string(to_string(profile)) + "}\n");
    // The API server rejects such a pod: its container requests more than the pod does.
    PodSpec pod = pod_of("a", {{"1", "4Gi"}, {"1", "1Mi"}});
    pod.resources = Resources{{{"memory", Quantity::bytes(1 << 20)}}, {}};
    for (Container& container : pod.containers) container.resources.limits.clear();
    std::swap(pod.containers[0].resources, pod.containers[1].resources);
    EXPECT_EQ(place(node, pod).container.linux_resources.oom_score_adj,
              profile == Profile::kFixed ? 999 : 1124);
  }
}

TEST(OomScoreAdj, IsBetweenThoseOfTheOtherClasses) {
  const auto of = [](const Node& node, const char* request) {
    PodSpec pod = pod_of("a", {{"1", "15Gi"}});
    pod.containers[0].resources.requests["memory"] = Quantity::parse(request).value();
    return place(node, pod).container.linux_resources.oom_score_adj;
  };
  const Node node = node_of("cpuManagerPolicy: none");
  EXPECT_EQ(of(node, "8Gi"), 500);
  EXPECT_EQ(of(node, "16Gi"), 3) << "above -997 + 1000";
  EXPECT_EQ(of(node, "1"), 999);
  MachineDescription none = test::two_sockets();
  for (NumaNode& numa : none.numa_nodes) numa.memory = 0;
  const Node empty =
      Node::make(Machine::make(none).value(), parse_config("{}").value().config).value();
  EXPECT_EQ(of(empty, "8Gi"), 999);
}

TEST(Isolation, IsHostInTheSharedPool) {
  const Node node = node_of("cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
  EXPECT_EQ(place(node, pod_of("a", {{"1500m", "1Gi"}})).container.cpuset_cpus.to_string(), "0-7");
  EXPECT_EQ(place(node, pod_of("a", {{"1500m", "1Gi"}})).container.isolation, Isolation::kHost);
  EXPECT_EQ(place(node, pod_of("a", {{"2", "1Gi"}})).container.isolation, Isolation::kContainer);
}

TEST(ContainerResources, AreTheSameAllAtOnceAndOneByOne) {
  // Burstable, with pod-level resources and a sidecar: the values depend on the other containers.
  const Node node = node_of("cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
  PodSpec pod = pod_of("a", {{"1", "1Gi"}, {"2", "3Gi"}, {"1", "2Gi"}});
  pod.containers[0].kind = ContainerKind::kSidecar;
  pod.resources = Resources{{{"memory", Quantity::parse("9Gi").value()}}, {}};
  Decision decision = decide(node, empty_state(node), pod);
  const NodeState& state = std::get<Admitted>(decision).next;
  const auto all = all_container_resources(node, state, *state.find(pod.uid));
  ASSERT_EQ(all.size(), 3U);
  for (const ContainerResources& one : all) {
    EXPECT_EQ(one, container_resources(node, state, {pod.uid, one.name}).value()) << one.name;
  }
  EXPECT_EQ(all[0].linux_resources.oom_score_adj, 1000 - 3000 / 16);
  EXPECT_EQ(all[1].linux_resources.oom_score_adj, 1000 - 4000 / 16);
}

}  // namespace
}  // namespace pinfold
