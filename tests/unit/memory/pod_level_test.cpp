#include "memory_fixture.hpp"

namespace pinfold::memory_test {
namespace {

Config pod_level_config(Profile profile = Profile::kFixed) {
  Config config = static_config(profile);
  config.feature_gates["PodLevelResourceManagers"] = true;
  return config;
}

/// A Guaranteed pod with pod-level resources; containers without amounts share.
PodSpec pod_level(const std::string& memory, std::vector<Container> containers) {
  PodSpec pod = pod_of("a", std::move(containers));
  pod.resources = container_of("", {{"cpu", "8"}, {"memory", memory}}).resources;
  return pod;
}

Container shared(const std::string& name, ContainerKind kind = ContainerKind::kApp) {
  return {.name = name, .kind = kind, .resources = {}};
}

Container exclusive(const std::string& name, const std::string& memory,
                    ContainerKind kind = ContainerKind::kApp) {
  return container_of(name, {{"memory", memory}}, kind);
}

std::string rejection(Node& node, const PodSpec& pod, const TopologyHint& affinity = {}) {
  const auto done = node.manager.allocate_pod(node.state, pod, affinity, nullptr);
  return done ? "" : done.error().reason + ": " + done.error().message;
}

std::uint64_t gib_of(const Node& node, const std::string& container) {
  return node.state.assignments.find({PodUid("a"), container})->at(0).size / kGi;
}

TEST(MemoryPodLevel, DividesOneBlockAmongTheContainers) {
  Node node(even_machine(2, 16), pod_level_config());
  const PodSpec pod = pod_level(
      "10Gi", {exclusive("s1", "2Gi", ContainerKind::kSidecar), shared("i1", ContainerKind::kInit),
               exclusive("i2", "3Gi", ContainerKind::kInit), exclusive("c1", "1Gi"), shared("c2"),
               shared("c3")});
  ASSERT_EQ(rejection(node, pod, hint_of(0b10)), "");
  EXPECT_EQ(node.state.pods.at(PodUid("a")), (std::vector<MemoryBlock>{{{1}, "memory", 10 * kGi}}));
  EXPECT_EQ(gib_of(node, "s1"), 2U);
  EXPECT_EQ(gib_of(node, "i1"), 8U);  // all memory except that of earlier sidecars
  EXPECT_EQ(gib_of(node, "i2"), 3U);
  EXPECT_EQ(gib_of(node, "c1"), 1U);
  EXPECT_EQ(gib_of(node, "c2"), 7U);
  EXPECT_EQ(gib_of(node, "c3"), 7U);
  EXPECT_EQ(node.table(1).reserved, 10 * kGi);
  EXPECT_TRUE(node.manager.start(node.state));
}

TEST(MemoryPodLevel, IsReleasedWithTheLastContainer) {
  Node node(even_machine(2, 16), pod_level_config());
  const MemoryState before = node.state;
  ASSERT_EQ(rejection(node, pod_level("10Gi", {exclusive("c1", "1Gi"), shared("c2")})), "");
  node.manager.remove_container(node.state, {PodUid("a"), "c1"});
  EXPECT_EQ(node.table(0).reserved, 10 * kGi);
  node.manager.remove_container(node.state, {PodUid("a"), "c2"});
  EXPECT_EQ(node.state, before);
}

struct SharedPoolCase {
  const char* name;
  std::vector<Container> containers;
  const char* error;
};

class MemorySharedPool : public testing::TestWithParam<SharedPoolCase> {
 protected:
  static ResourceHints hints(const PodSpec& pod) {
    const Node node(even_machine(2, 16), pod_level_config());
    return node.manager.pod_hints(node.state, pod);
  }
};

TEST_P(MemorySharedPool, MustNotBeEmpty) {
  Node node(even_machine(2, 16), pod_level_config());
  const PodSpec pod = pod_level("4Gi", GetParam().containers);
  const std::string error = GetParam().error;
  EXPECT_EQ(rejection(node, pod), error.empty() ? "" : "EmptyPodSharedPoolError: " + error);
  const ResourceHints hints = MemorySharedPool::hints(pod);
  const ResourceHints impossible = {{"memory", std::vector<TopologyHint>{}}};
  EXPECT_EQ(hints == impossible, !error.empty());
}

const SharedPoolCase kSharedPoolCases[] = {
    {"AllExclusive", {exclusive("c1", "4Gi")}, ""},
    {"SomethingIsLeft", {exclusive("c1", "3Gi"), shared("c2")}, ""},
    {"NothingIsLeft",
     {exclusive("c1", "4Gi"), shared("c2")},
     "pod rejected, sum of exclusive container memory requests equals pod budget, leaving no "
     "memory "
     "for shared containers"},
    {"NothingIsLeftForInitContainers",
     {exclusive("s1", "4Gi", ContainerKind::kSidecar), shared("i1", ContainerKind::kInit)},
     "pod rejected, pod has shared init containers but no memory available for them"},
    {"InitContainerTakesAllThatSidecarsLeave",
     {exclusive("s1", "3Gi", ContainerKind::kSidecar),
      exclusive("i1", "1Gi", ContainerKind::kInit)},
     ""},
    {"InitContainerDoesNotFitBesideSidecars",
     {exclusive("s1", "3Gi", ContainerKind::kSidecar),
      exclusive("i1", "2Gi", ContainerKind::kInit)},
     "pod rejected, largest exclusive init container requests 2147483648 of memory, but only "
     "1073741824 available"},
};

INSTANTIATE_TEST_SUITE_P(Table, MemorySharedPool, testing::ValuesIn(kSharedPoolCases),
                         [](const auto& tested) { return tested.param.name; });

TEST(MemoryPodHints, AddUpConcurrentContainers) {
  const Node node(even_machine(2, 16));
  // The init container needs 2 + 14 GiB with the sidecar, the others 2 + 4 + 4.
  const PodSpec pod = pod_of("a", {exclusive("s1", "2Gi", ContainerKind::kSidecar),
                                   exclusive("i1", "14Gi", ContainerKind::kInit),
                                   exclusive("c1", "4Gi"), exclusive("c2", "4Gi")});
  EXPECT_EQ(print(node.manager.pod_hints(node.state, pod)), "1* 0-1");  // 16 GiB
  const PodSpec apps = pod_of("b", {exclusive("c1", "9Gi"), exclusive("c2", "9Gi")});
  EXPECT_EQ(print(node.manager.pod_hints(node.state, apps)), "0-1*");
}

TEST(MemoryPodHints, UsePodLevelRequests) {
  const Node node(even_machine(2, 16), pod_level_config());
  EXPECT_EQ(print(node.manager.pod_hints(node.state, pod_level("16Gi", {shared("c1")}))), "1* 0-1");
}

bool is_before_138(Profile profile) {
  return profile == Profile::kKubelet136 || profile == Profile::kKubelet137;
}

TEST(MemoryQuirks, ReadmittedPodTakesMemoryAgain) {
  for (const Profile profile : kProfiles) {
    Node node(even_machine(2, 16), pod_level_config(profile));
    const PodSpec pod = pod_level("6Gi", {exclusive("c1", "1Gi"), shared("c2")});
    for (int i = 0; i < 2; ++i) ASSERT_EQ(rejection(node, pod, hint_of(0b10)), "");
    EXPECT_EQ(node.table(1).reserved, (is_before_138(profile) ? 12 : 6) * kGi)
        << to_string(profile);
  }
}

TEST(MemoryQuirks, PodMemoryHintFromContainer) {
  for (const Profile profile : kProfiles) {
    Node node(even_machine(2, 16), pod_level_config(profile));
    const PodSpec pod = pod_level("6Gi", {exclusive("c1", "1Gi"), shared("c2")});
    ASSERT_EQ(rejection(node, pod, hint_of(0b10)), "");
    EXPECT_EQ(print(node.manager.pod_hints(node.state, pod)),
              is_before_138(profile) ? "none" : "1*")
        << to_string(profile);
  }
}

TEST(MemoryQuirks, EmptyRequestNeedsNumaNodes) {
  const PodSpec pod = pod_level("6Gi", {shared("c1")});
  Node fixed(even_machine(1, 16), pod_level_config());
  EXPECT_EQ(fixed.admit(pod), "");
  EXPECT_EQ(fixed.state.assignments.find({PodUid("a"), "c1"}), nullptr);
  Node kubelet(even_machine(1, 16), pod_level_config(Profile::kKubelet136));
  EXPECT_EQ(kubelet.admit(pod),
            "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no "
            "NUMA nodes with enough memory is available, which is unexpected");
}

TEST(MemoryUsage, IsOfTheAllocatableMemory) {
  Node node(even_machine(3, 16));
  ASSERT_EQ(node.admit(pod_of("a", {exclusive("c", "5Gi")}), hint_of(0b001)), "");
  ASSERT_EQ(node.admit(pod_of("b", {exclusive("c", "5Gi")}), hint_of(0b010)), "");
  const std::vector<NumaUsage> usage = node.manager.usage(node.state).at("memory");
  ASSERT_EQ(usage.size(), 3U);
  EXPECT_EQ(usage[0].assigned, 5 * kGi);
  EXPECT_EQ(usage[0].allocatable, 15 * kGi);
  EXPECT_EQ(usage[1].nodes, NumaMask(0b010));
  EXPECT_EQ(usage[1].allocatable, 16 * kGi);
  EXPECT_EQ(usage[2].assigned, 0U);
  const Node cpus_only(
      machine_of({{.id = 0, .gib = 8, .hugepages = {}}, {.id = 1, .gib = 0, .hugepages = {}}}));
  EXPECT_EQ(cpus_only.manager.usage(cpus_only.state).at("memory").back().allocatable, 0U);
  const Node none(even_machine(3, 16), Config{}, {});
  EXPECT_TRUE(none.manager.usage(none.state).empty());
}

}  // namespace
}  // namespace pinfold::memory_test
