#include <gtest/gtest.h>

#include "pinfold/device/device_manager.hpp"

namespace pinfold {
namespace {

constexpr const char* kGpu = "example.com/gpu";
constexpr const char* kPlain = "example.com/plain";

/// NUMA nodes with one CPU each.
MachineDescription one_cpu_nodes(std::int32_t count) {
  MachineDescription description;
  for (std::int32_t id = 0; id < count; ++id) {
    description.numa_nodes.push_back(
        {.id = NumaId{id}, .memory = 1, .hugepages = {}, .distances = {}});
    description.cpus.push_back({.id = CpuId{id},
                                .core = CoreId{id},
                                .socket = SocketId{0},
                                .numa = NumaId{id},
                                .l3 = CacheId{0}});
  }
  return description;
}

/// Four NUMA nodes with one CPU each. gpu-0 is on 0 and 1, gpu-1 to gpu-3 are on 1, gpu-10 is on 2;
/// gpu-11 and two plain devices have no topology.
Machine test_machine() {
  MachineDescription description = one_cpu_nodes(4);
  const auto add = [&](const char* resource, const char* id, std::vector<NumaId> nodes) {
    description.devices.push_back({.resource = resource, .id = id, .numa_nodes = std::move(nodes)});
  };
  add(kGpu, "gpu-10", {NumaId{2}});
  add(kGpu, "gpu-3", {NumaId{1}});
  add(kGpu, "gpu-1", {NumaId{1}});
  add(kGpu, "gpu-2", {NumaId{1}});
  add(kGpu, "gpu-0", {NumaId{0}, NumaId{1}});
  add(kGpu, "gpu-11", {});
  add(kPlain, "plain-1", {});
  add(kPlain, "plain-0", {});
  return *Machine::make(std::move(description));
}

Container container_of(const std::string& name, std::int64_t gpus,
                       ContainerKind kind = ContainerKind::kApp) {
  Container container{.name = name, .kind = kind, .resources = {}};
  if (gpus > 0) container.resources.limits[kGpu] = Quantity::of(gpus, Quantity::Format::kDecimalSi);
  return container;
}

PodSpec pod_of(const std::string& uid, std::vector<Container> containers) {
  return {.uid = PodUid(uid),
          .name = uid,
          .namespace_name = "default",
          .containers = std::move(containers),
          .resources = std::nullopt};
}

struct DeviceTest : testing::Test {
  Machine machine = test_machine();
  DeviceManager manager{machine};
  DeviceState state;

  std::string admit(const PodSpec& pod, const TopologyHint& affinity = {}) {
    for (const Container& container : pod.containers) {
      const auto done = manager.allocate(state, pod, container, affinity, nullptr);
      if (!done) return done.error().message;
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string> held(const std::string& pod, const std::string& name,
                                              const char* resource = kGpu) const {
    return state.assignments.find({PodUid(pod), name})->at(resource);
  }
  [[nodiscard]] std::string hints(const PodSpec& pod, std::size_t container = 0) const {
    return print(manager.container_hints(state, pod, pod.containers[container]));
  }
  [[nodiscard]] std::string pod_hints(const PodSpec& pod) const {
    return print(manager.pod_hints(state, pod));
  }
  static std::string print(const ResourceHints& hints) {
    const auto found = hints.find(kGpu);
    if (found == hints.end() || !found->second) return "no preference";
    std::string text;
    for (const TopologyHint& hint : *found->second) {
      if (!text.empty()) text += ' ';
      text += hint.numa->to_string() + (hint.preferred ? "*" : "");
    }
    return text.empty() ? "impossible" : text;
  }
};

using Names = std::vector<std::string>;
const TopologyHint kNode1{NumaMask(0b0010), true};
const TopologyHint kNode2{NumaMask(0b0100), true};

TEST_F(DeviceTest, HintsCountDevicesWithTopologyOnly) {
  EXPECT_EQ(hints(pod_of("a", {container_of("c", 4)})), "1* 0-1 1-2 0-2");
  EXPECT_EQ(hints(pod_of("a", {container_of("c", 5)})), "1-2* 0-2");
  EXPECT_EQ(hints(pod_of("a", {container_of("c", 6)})), "impossible");
}

TEST_F(DeviceTest, PreferredWidthComesFromAllDevicesAndFeasibilityFromFreeOnes) {
  ASSERT_EQ(admit(pod_of("a", {container_of("c", 2)}), kNode1), "");
  EXPECT_EQ(hints(pod_of("b", {container_of("c", 3)})), "1-2 0-2");
}

TEST_F(DeviceTest, ResourceWithoutTopologyHasNoPreference) {
  Container container = container_of("c", 0);
  container.resources.limits[kPlain] = Quantity::of(1, Quantity::Format::kDecimalSi);
  container.resources.limits["example.com/other"] = Quantity::of(1, Quantity::Format::kDecimalSi);
  const PodSpec pod = pod_of("a", {container});
  const ResourceHints offered = manager.container_hints(state, pod, container);
  EXPECT_EQ(offered, (ResourceHints{{kPlain, std::nullopt}}));
  ASSERT_EQ(admit(pod), "");
  EXPECT_EQ(held("a", "c", kPlain), Names{"plain-0"});
}

TEST_F(DeviceTest, LowestNumbersWithinTheAffinityGoFirst) {
  ASSERT_EQ(admit(pod_of("a", {container_of("c", 1)}), kNode2), "");
  EXPECT_EQ(held("a", "c"), Names{"gpu-10"});
  ASSERT_EQ(admit(pod_of("b", {container_of("c", 2)}), kNode1), "");
  EXPECT_EQ(held("b", "c"), (Names{"gpu-0", "gpu-1"}));
  ASSERT_EQ(admit(pod_of("c", {container_of("c", 1)})), "");
  EXPECT_EQ(held("c", "c"), Names{"gpu-2"});
}

/// Numbers within names are compared by value; the text decides between equal ones.
TEST(DeviceNames, AreOrderedByTheNumbersInThem) {
  const Names sorted = {"a",       "a-b",      "gpu-1",    "gpu-02",   "gpu-2",      "gpu-9",
                        "gpu-010", "gpu-11-a", "gpu-12-a", "gpu-12-b", "gpu-12-b-0", "gpx"};
  MachineDescription description = one_cpu_nodes(1);
  for (auto id = sorted.rbegin(); id != sorted.rend(); ++id) {
    description.devices.push_back({.resource = kGpu, .id = *id, .numa_nodes = {NumaId{0}}});
  }
  const Machine machine = *Machine::make(std::move(description));
  const DeviceManager manager(machine);
  DeviceState state;
  for (std::size_t count = 1; count <= sorted.size(); ++count) {
    DeviceState none;
    const PodSpec pod = pod_of("p", {container_of("c", static_cast<std::int64_t>(count))});
    ASSERT_TRUE(manager.allocate(none, pod, pod.containers[0], {}, nullptr));
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(count);
    EXPECT_EQ(none.assignments.find({PodUid("p"), "c"})->at(kGpu), Names(sorted.begin(), last));
  }
}

TEST_F(DeviceTest, OtherNodesThenNoNodeFollowTheAffinity) {
  ASSERT_EQ(admit(pod_of("a", {container_of("c", 5)}), kNode2), "");
  EXPECT_EQ(held("a", "c"), (Names{"gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-10"}));
  ASSERT_EQ(admit(pod_of("b", {container_of("c", 1)}), kNode2), "");
  EXPECT_EQ(held("b", "c"), Names{"gpu-11"});
}

TEST_F(DeviceTest, DescribesWhatIsNeededFreeAndHeld) {
  ASSERT_EQ(admit(pod_of("a", {container_of("c", 2)}), kNode2), "");
  const PodSpec pod = pod_of("b", {container_of("c", 4), container_of("d", 1)});
  const auto amounts = manager.amounts(state, pod, &pod.containers[0]);
  ASSERT_EQ(amounts.size(), 1U);
  EXPECT_EQ(describe(amounts[0]),
            "needs 4 example.com/gpu; no NUMA node: 1 free, 0 held; NUMA 0,1: 0 free, 1 held; NUMA "
            "1: 3 free, 0 held; NUMA 2: 0 free, 1 held");
  EXPECT_EQ(manager.amounts(state, pod, nullptr).at(0).needed.value(), 5);
  EXPECT_TRUE(manager.amounts(state, pod_of("n", {container_of("c", 0)}), nullptr).empty());
}

/// The kubelet compares such a device with every mask; none contains it.
TEST(DeviceOnAnUnknownNumaNode, HasTopologyThatNoHintHolds) {
  MachineDescription description = one_cpu_nodes(2);
  description.devices = {{.resource = kGpu, .id = "gpu-0", .numa_nodes = {}},
                         {.resource = kGpu, .id = "gpu-1", .numa_nodes = {NumaId{5}}}};
  const Machine machine = *Machine::make(description);
  const DeviceManager manager(machine);
  const PodSpec pod = pod_of("p", {container_of("c", 1)});
  DeviceState state;
  const ResourceHints hints = manager.container_hints(state, pod, pod.containers[0]);
  EXPECT_EQ(hints.at(kGpu), HintList(std::vector<TopologyHint>{})) << "no preference is nullopt";
  ASSERT_TRUE(manager.allocate(state, pod, pod.containers[0], {NumaMask::of(0), true}, nullptr));
  const DeviceState::OfContainer expected = {{kGpu, {"gpu-1"}}};
  EXPECT_EQ(*state.assignments.find({PodUid("p"), "c"}), expected)
      << "before those without topology";
}

TEST_F(DeviceTest, ReportsHowManyAreMissing) {
  ASSERT_EQ(admit(pod_of("a", {container_of("c", 4)})), "");
  EXPECT_EQ(admit(pod_of("b", {container_of("c", 3)})),
            "Allocate failed due to requested number of devices unavailable for example.com/gpu. "
            "Requested: 3, Available: 2, which is unexpected");
}

TEST_F(DeviceTest, LaterContainersTakeOverFromInitContainers) {
  const PodSpec pod =
      pod_of("a", {container_of("i", 3, ContainerKind::kInit),
                   container_of("s", 1, ContainerKind::kSidecar), container_of("c", 3)});
  ASSERT_EQ(admit(pod, kNode1), "");
  EXPECT_EQ(held("a", "i"), (Names{"gpu-0", "gpu-1", "gpu-2"}));
  EXPECT_EQ(held("a", "s"), Names{"gpu-0"});
  EXPECT_EQ(held("a", "c"), (Names{"gpu-1", "gpu-2", "gpu-3"}));
}

TEST_F(DeviceTest, TheLowestNumbersAreTakenOverFirst) {
  const PodSpec pod =
      pod_of("a", {container_of("i", 2, ContainerKind::kInit),
                   container_of("j", 1, ContainerKind::kInit), container_of("c", 1)});
  ASSERT_EQ(admit(pod, kNode1), "");
  EXPECT_EQ(held("a", "i"), (Names{"gpu-0", "gpu-1"}));
  EXPECT_EQ(held("a", "j"), Names{"gpu-0"});
  EXPECT_EQ(held("a", "c"), Names{"gpu-0"});
}

TEST_F(DeviceTest, HintsHoldAllDevicesToReuse) {
  const PodSpec pod =
      pod_of("a", {container_of("i", 1, ContainerKind::kInit), container_of("c", 2)});
  ASSERT_TRUE(manager.allocate(state, pod, pod.containers[0], kNode2, nullptr));
  EXPECT_EQ(hints(pod, 1), "0,2 1-2 0-2");
}

TEST_F(DeviceTest, RepeatsTheHintsOfExistingAssignments) {
  const PodSpec pod = pod_of("a", {container_of("c", 2)});
  ASSERT_EQ(admit(pod, kNode1), "");
  EXPECT_EQ(hints(pod), "1* 0-1 1-2 0-2");
  EXPECT_EQ(hints(pod_of("a", {container_of("c", 1)})), "impossible");
  EXPECT_EQ(admit(pod_of("a", {container_of("c", 1)})),
            "Allocate failed due to pod \"a\" container \"c\" changed request for resource "
            "\"example.com/gpu\" from 2 to 1, which is unexpected");
  ASSERT_EQ(admit(pod), "");  // the pod keeps its devices
  EXPECT_EQ(held("a", "c"), (Names{"gpu-0", "gpu-1"}));
}

TEST_F(DeviceTest, PodHintsAddUpConcurrentContainers) {
  // The init container needs 1 + 3 devices with the sidecar, the other containers 1 + 1.
  const PodSpec pod =
      pod_of("a", {container_of("s", 1, ContainerKind::kSidecar),
                   container_of("i", 3, ContainerKind::kInit), container_of("c", 1)});
  EXPECT_EQ(pod_hints(pod), "1* 0-1 1-2 0-2");
  EXPECT_EQ(pod_hints(pod_of("a", {container_of("c", 2), container_of("d", 3)})), "1-2* 0-2");
}

TEST_F(DeviceTest, DevicesAreReleasedWithTheirContainer) {
  const PodSpec pod = pod_of("a", {container_of("c", 6), container_of("d", 0)});
  ASSERT_EQ(admit(pod), "");
  manager.remove_container(state, {PodUid("a"), "unknown"});
  manager.remove_container(state, {PodUid("b"), "c"});
  EXPECT_EQ(held("a", "c").size(), 6U);
  manager.remove_container(state, {PodUid("a"), "c"});
  EXPECT_EQ(state, DeviceState{});
}

TEST_F(DeviceTest, ExplainsItsChoice) {
  Trace trace;
  const PodSpec pod = pod_of("a", {container_of("c", 2)});
  ASSERT_TRUE(manager.allocate(state, pod, pod.containers[0], kNode1, &trace));
  ASSERT_EQ(trace.facts.size(), 1U);
  EXPECT_EQ(trace.facts[0].text,
            "takes gpu-0, gpu-1 of example.com/gpu: lowest ids first within NUMA node 1, then "
            "elsewhere");
}

}  // namespace
}  // namespace pinfold
