#include <gtest/gtest.h>

#include "../../support/cpu_fixture.hpp"

namespace pinfold::test {
namespace {

Config pod_level_config(Profile profile = Profile::kKubelet136) {
  Config config = static_policy({}, profile);
  config.feature_gates["PodLevelResourceManagers"] = true;
  return config;
}

PodSpec with_budget(PodSpec pod, std::int64_t milli_cpu) {
  const ResourceList amounts = {{"cpu", Quantity::milli(milli_cpu)},
                                {"memory", Quantity::bytes(std::int64_t{8} << 30)}};
  pod.resources = Resources{amounts, amounts};
  return pod;
}

Container shared(std::string name, ContainerKind kind = ContainerKind::kApp) {
  return {std::move(name), kind, {}};
}

// Eight single-threaded cores on one NUMA node, CPU 0 reserved.
Rig pod_rig(const Config& config = pod_level_config()) {
  return {machine_of(Shape{.cores_per_cache = 8, .threads = 1}), config, reserve_set({0})};
}

/// The reason of a rejection, or "".
std::string allocate(Rig& r, const PodSpec& pod) {
  const auto done = r.manager().allocate_pod(r.state, pod, {}, &r.trace);
  return done ? "" : done.error().reason + ": " + done.error().message;
}

TEST(CpuPodLevel, PartitionsOneSetAmongTheContainers) {
  Rig r = pod_rig();
  const PodSpec pod = with_budget(
      pod_of("p",
             {shared("i1", ContainerKind::kInit), exclusive("s", 1000, ContainerKind::kSidecar),
              shared("i2", ContainerKind::kInit), exclusive("i3", 4000, ContainerKind::kInit),
              exclusive("c", 2000), shared("d")}),
      5000);
  EXPECT_EQ(allocate(r, pod), "");
  const std::map<std::string, CpuSet> want = {
      {"i1", CpuSet::range(1, 5)}, {"s", {1}},    {"i2", CpuSet::range(2, 5)},
      {"i3", CpuSet::range(2, 5)}, {"c", {2, 3}}, {"d", {4, 5}}};
  EXPECT_EQ(r.state.assignments.by_pod(), (ContainerMap<CpuSet>::ByPod{{PodUid("p"), want}}));
  EXPECT_EQ(r.state.pods.at(PodUid("p")), CpuSet::range(1, 5));
  EXPECT_EQ(r.state.default_set.to_string(), "0,6-7");
}

TEST(CpuPodLevel, ReleasesItsSetWithTheLastContainer) {
  Rig r = pod_rig();
  ASSERT_EQ(allocate(r, with_budget(pod_of("p", {exclusive("c", 2000), shared("d")}), 4000)), "");
  r.manager().remove_container(r.state, {PodUid("p"), "c"});
  EXPECT_EQ(r.state.default_set.to_string(), "0,5-7");
  r.manager().remove_container(r.state, {PodUid("p"), "d"});
  EXPECT_EQ(r.state.default_set.to_string(), "0-7");
  EXPECT_TRUE(r.state.pods.empty());
}

struct PoolCase {
  const char* name;
  PodSpec pod;
  std::string error;
};

class CpuPodPool : public testing::TestWithParam<PoolCase> {};

TEST_P(CpuPodPool, MustBeLargeEnough) {
  Rig r = pod_rig();
  const CpuState before = r.state;
  EXPECT_EQ(allocate(r, GetParam().pod), GetParam().error);
  if (GetParam().error.empty()) return;
  EXPECT_EQ(r.state, before);
  EXPECT_TRUE(r.manager().pod_hints(r.state, GetParam().pod).at("cpu")->empty());
}

INSTANTIATE_TEST_SUITE_P(
    Table, CpuPodPool,
    testing::Values(
        PoolCase{"all_exclusive_fits",
                 with_budget(pod_of("p", {exclusive("c", 2000), exclusive("d", 2000)}), 4000), ""},
        PoolCase{"nothing_left_for_an_app",
                 with_budget(pod_of("p", {exclusive("c", 4000), shared("d")}), 4000),
                 "EmptyPodSharedPoolError: pod rejected, sum of exclusive container cpu requests "
                 "equals pod budget, leaving no cpus for shared containers"},
        PoolCase{"nothing_left_for_an_init_container",
                 with_budget(pod_of("p", {exclusive("s", 2000, ContainerKind::kSidecar),
                                          shared("i", ContainerKind::kInit)}),
                             2000),
                 "EmptyPodSharedPoolError: pod rejected, pod has shared init containers but no "
                 "cpus available for them"},
        PoolCase{"init_container_too_large",
                 with_budget(pod_of("p", {exclusive("s", 2000, ContainerKind::kSidecar),
                                          exclusive("i", 3000, ContainerKind::kInit), shared("c")}),
                             4000),
                 "EmptyPodSharedPoolError: pod rejected, largest exclusive init container requests "
                 "3 cpus, but only 2 available"}),
    [](const auto& c) { return std::string(c.param.name); });

TEST(CpuPodLevel, ExclusivityNeedsEqualMemoryToo) {
  Rig r = pod_rig();
  PodSpec pod = with_budget(pod_of("p", {exclusive("c", 2000)}), 4000);
  EXPECT_EQ(r.manager().guaranteed_cpus(pod, pod.containers[0]), 2);
  pod.containers[0].resources.requests.erase("memory");
  EXPECT_EQ(r.manager().guaranteed_cpus(pod, pod.containers[0]), 0);
}

TEST(CpuPodLevel, FractionalBudgetIsNotManaged) {
  Rig r = pod_rig();
  EXPECT_EQ(allocate(r, with_budget(pod_of("p", {shared("c")}), 2500)), "");
  EXPECT_TRUE(r.state.assignments.empty());
}

TEST(CpuPodLevel, IsIgnoredWithoutItsGate) {
  Rig r = pod_rig(static_policy());
  const PodSpec pod = with_budget(pod_of("p", {exclusive("c", 2000)}), 4000);
  EXPECT_EQ(r.admit(pod, "c"), "shared");
  EXPECT_TRUE(r.manager().pod_hints(r.state, pod).empty());
  EXPECT_TRUE(r.manager().container_hints(r.state, pod, pod.containers[0]).empty());
}

}  // namespace
}  // namespace pinfold::test
