#include "pinfold/podresources/pod_resources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "node_fixture.hpp"

namespace pinfold::podresources {
namespace {

using test::aligning_config;
using test::container;
using test::pod_of;
using test::TestNode;
using test::with_memory_manager;
using testing::ElementsAre;
using testing::IsEmpty;

/// "RESOURCE/ID" or "RESOURCE/ID@NODE" for each message.
std::vector<std::string> text(
    const google::protobuf::RepeatedPtrField<::v1::ContainerDevices>& list) {
  std::vector<std::string> out;
  for (const auto& device : list) {
    std::string& one = out.emplace_back(device.resource_name());
    for (const auto& id : device.device_ids()) one += "/" + id;
    for (const auto& node : device.topology().nodes()) one += "@" + std::to_string(node.id());
    EXPECT_EQ(device.has_topology(), device.topology().nodes_size() > 0) << one;
  }
  return out;
}

TEST(PodResources, ListsSidecarsFirstAndNoInitContainers) {
  TestNode node({}, aligning_config("none"));
  ASSERT_EQ(node.admit(pod_of("p", {container("init", {{"cpu", "1"}}, ContainerKind::kInit),
                                    container("proxy", {{"cpu", "1"}}, ContainerKind::kSidecar),
                                    container("app", {{"cpu", "1"}}),
                                    container("logs", {{"cpu", "1"}}, ContainerKind::kSidecar)})),
            "");
  const auto response = list(node.node().machine(), node.state());
  ASSERT_EQ(response.pod_resources_size(), 1);
  std::vector<std::string> names;
  for (const auto& one : response.pod_resources(0).containers()) names.push_back(one.name());
  EXPECT_THAT(names, ElementsAre("proxy", "logs", "app"));
  const auto alpha = list_v1alpha1(node.node().machine(), node.state());
  ASSERT_EQ(alpha.pod_resources(0).containers_size(), 1);
  EXPECT_EQ(alpha.pod_resources(0).containers(0).name(), "app");
}

TEST(PodResources, ADeviceHasOneMessageForEachOfItsNumaNodes) {
  MachineDescription description = test::machine_of({}).description();
  description.devices = {{"a.com/gpu", "g0", {NumaId{0}, NumaId{1}}},
                         {"a.com/gpu", "g1", {NumaId{1}}},
                         {"a.com/key", "k0", {}}};
  const auto node =
      Node::make(Machine::make(std::move(description)).value(), aligning_config("none")).value();
  NodeState state = empty_state(node);
  state.pods.push_back({pod_of("p", {container("c", {})}), {}});
  state.devices.assignments[{PodUid("p"), "c"}] = {
      {"a.com/gpu", {"g0", "g1"}}, {"a.com/key", {"k0"}}, {"gone.com/x", {"x0"}}};
  const auto expected = ElementsAre("a.com/gpu/g0@0", "a.com/gpu/g0@1", "a.com/gpu/g1@1",
                                    "a.com/key/k0", "gone.com/x/x0");
  const auto response = list(node.machine(), state);
  EXPECT_THAT(text(response.pod_resources(0).containers(0).devices()), expected);
  EXPECT_THAT(text(allocatable(node, state).devices()),
              ElementsAre("a.com/gpu/g0@0", "a.com/gpu/g0@1", "a.com/gpu/g1@1", "a.com/key/k0"));
  const auto alpha = list_v1alpha1(node.machine(), state);
  const auto& devices = alpha.pod_resources(0).containers(0).devices();
  ASSERT_EQ(devices.size(), 5);
  EXPECT_EQ(devices[0].resource_name(), "a.com/gpu");
  EXPECT_THAT(devices[0].device_ids(), ElementsAre("g0"));
  EXPECT_THAT(devices[4].device_ids(), ElementsAre("x0"));
}

TEST(PodResources, ABlockNamesAllItsNumaNodes) {
  TestNode node({2, 4, 4}, with_memory_manager(aligning_config("best-effort")));
  ASSERT_EQ(node.admit(pod_of("p", {container("c", {{"cpu", "1"}, {"memory", "5Gi"}})})), "");
  const auto response = list(node.node().machine(), node.state());
  const auto& memory = response.pod_resources(0).containers(0).memory();
  ASSERT_EQ(memory.size(), 1);
  EXPECT_EQ(memory[0].memory_type(), "memory");
  EXPECT_EQ(memory[0].size(), std::uint64_t{5} << 30U);
  ASSERT_EQ(memory[0].topology().nodes_size(), 2);
  EXPECT_EQ(memory[0].topology().nodes(1).id(), 1);
}

TEST(PodResources, NothingIsAllocatableByManagersWithThePolicyNone) {
  const auto node = Node::make(test::machine_of({}), Config{}).value();
  const auto response = allocatable(node, empty_state(node));
  EXPECT_THAT(response.cpu_ids(), IsEmpty());
  EXPECT_THAT(response.memory(), IsEmpty());
}

TEST(PodResources, AllocationsDoNotReduceWhatIsAllocatable) {
  TestNode node({1, 4, 4}, with_memory_manager(aligning_config("none")));
  const auto before = allocatable(node.node(), node.state());
  EXPECT_THAT(before.cpu_ids(), ElementsAre(1, 2, 3));
  ASSERT_EQ(before.memory_size(), 1);
  EXPECT_EQ(before.memory(0).size(), std::uint64_t{3} << 30U);
  ASSERT_EQ(node.admit(pod_of("p", {container("c", {{"cpu", "2"}, {"memory", "1Gi"}})})), "");
  EXPECT_EQ(allocatable(node.node(), node.state()).DebugString(), before.DebugString());
}

TEST(PodResources, GetFindsAPodByNameAndNamespace) {
  TestNode node({}, aligning_config("none"));
  PodSpec other = pod_of("u1", {container("c", {{"cpu", "2"}, {"memory", "1Gi"}})});
  other.name = "web";
  other.namespace_name = "prod";
  ASSERT_EQ(node.admit(other), "");
  PodSpec pod = pod_of("u2", {container("c", {{"cpu", "3"}, {"memory", "1Gi"}})});
  pod.name = "web";
  ASSERT_EQ(node.admit(pod), "");
  const auto found = get(node.node().machine(), node.state(), "web", "default");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->pod_resources().containers(0).cpu_ids_size(), 3);
  const auto unknown = get(node.node().machine(), node.state(), "web", "kube-system");
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message, "pod web in namespace kube-system not found");
}

}  // namespace
}  // namespace pinfold::podresources
