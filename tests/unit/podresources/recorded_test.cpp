#include "recorded.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/podresources/pod_resources.hpp"

/// A kubelet's answers, recomputed from its state files, its configuration and its pods.
namespace pinfold::podresources {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

template <class Message>
Message decode(std::string_view hex) {
  Message message;
  if (!message.ParseFromString(from_hex(hex))) throw std::runtime_error("not a message");
  return message;
}

/// Sorts lists that the kubelet returns in the order of a Go map.
void sort(google::protobuf::RepeatedField<std::int64_t>& ids) { std::sort(ids.begin(), ids.end()); }
void sort(google::protobuf::RepeatedPtrField<::v1::ContainerMemory>& blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) {
    return a.SerializeAsString() < b.SerializeAsString();
  });
}
void sort(::v1::PodResources& pod) {
  for (auto& container : *pod.mutable_containers()) sort(*container.mutable_cpu_ids());
}
std::string sorted(::v1::ListPodResourcesResponse response) {
  for (auto& pod : *response.mutable_pod_resources()) sort(pod);
  return response.DebugString();
}
std::string sorted(::v1::GetPodResourcesResponse response) {
  sort(*response.mutable_pod_resources());
  return response.DebugString();
}
std::string sorted(::v1::AllocatableResourcesResponse response) {
  sort(*response.mutable_cpu_ids());
  sort(*response.mutable_memory());
  return response.DebugString();
}

Node recorded_node(bool pod_level) {
  MachineDescription description;
  for (std::int32_t id = 0; id < 8; ++id) {
    const std::int32_t half = id / 4;
    description.cpus.push_back(
        {CpuId{id}, CoreId{id / 2 * 2}, SocketId{half}, NumaId{half}, CacheId{half}});
  }
  description.numa_nodes.push_back({NumaId{0}, 2044448768, {{"hugepages-2Mi", 0}}, {10, 20}});
  description.numa_nodes.push_back({NumaId{1}, 2078732288, {{"hugepages-2Mi", 0}}, {20, 10}});
  auto config = parse_config(R"({
      "cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1",
      "topologyManagerPolicy": "single-numa-node", "memoryManagerPolicy": "Static",
      "systemReserved": {"memory": "64Mi"}, "evictionHard": {"memory.available": "64Mi"},
      "reservedMemory": [{"numaNode": 0, "limits": {"memory": "128Mi"}}]})")
                    .value()
                    .config;
  if (pod_level) {
    config.topology_manager_scope = "pod";
    config.feature_gates["PodLevelResources"] = true;
    config.feature_gates["PodLevelResourceManagers"] = true;
  }
  return Node::make(Machine::make(std::move(description)).value(), std::move(config)).value();
}

NodeState recorded_state(const char* cpu, const char* memory, bool pod_level) {
  NodeState state;
  static_cast<CpuCheckpoint&>(state.cpu) =
      *checkpoint::restore_cpu(cpu, std::nullopt, pod_level, {}).value();
  static_cast<MemoryCheckpoint&>(state.memory) =
      *checkpoint::restore_memory(memory, std::nullopt, pod_level).value();
  return state;
}

void add_pod(NodeState& state, const char* uid, const char* name,
             const std::vector<std::string>& containers) {
  PodSpec pod;
  pod.uid = PodUid(uid);
  pod.name = name;
  pod.namespace_name = "default";
  for (const std::string& container : containers) {
    pod.containers.push_back({container, ContainerKind::kApp, {}});
  }
  state.pods.push_back({std::move(pod), {}});
}

NodeState static_state() {
  NodeState state = recorded_state(recorded::kStaticCpuState, recorded::kStaticMemoryState, false);
  add_pod(state, "53cac9656877e90a98f14c35f220e1a2", "db-node", {"postgres"});
  add_pod(state, "b", "batch-node", {"worker"});
  add_pod(state, "eb35f7641c00b4a429843aacf441622f", "web-node", {"front", "back"});
  return state;
}

TEST(RecordedPodResources, List) {
  const Node node = recorded_node(false);
  EXPECT_EQ(sorted(list(node.machine(), static_state())),
            sorted(decode<::v1::ListPodResourcesResponse>(recorded::kStaticList)));
}

TEST(RecordedPodResources, Get) {
  const Node node = recorded_node(false);
  EXPECT_EQ(sorted(get(node.machine(), static_state(), "db-node", "default").value()),
            sorted(decode<::v1::GetPodResourcesResponse>(recorded::kStaticGet)));
}

TEST(RecordedPodResources, GetAllocatableResources) {
  EXPECT_EQ(sorted(allocatable(recorded_node(false), static_state())),
            sorted(decode<::v1::AllocatableResourcesResponse>(recorded::kAllocatable)));
}

TEST(RecordedPodResources, ListOfV1Alpha1) {
  const Node node = recorded_node(false);
  EXPECT_EQ(list_v1alpha1(node.machine(), static_state()).DebugString(),
            decode<::v1alpha1::ListPodResourcesResponse>(recorded::kStaticAlphaList).DebugString());
}

TEST(RecordedPodResources, ContainersThatShareAPodSharedPoolHaveItsCpus) {
  const Node node = recorded_node(true);
  NodeState state =
      recorded_state(recorded::kPodLevelCpuState, recorded::kPodLevelMemoryState, true);
  add_pod(state, "f6f21f3110f94eb37807b2516f903e81", "pl-node", {"excl", "side"});
  add_pod(state, "b", "batch-node", {"worker"});
  EXPECT_EQ(sorted(list(node.machine(), state)),
            sorted(decode<::v1::ListPodResourcesResponse>(recorded::kPodLevelList)));
  EXPECT_EQ(sorted(allocatable(node, state)),
            sorted(decode<::v1::AllocatableResourcesResponse>(recorded::kPodLevelAllocatable)));
}

}  // namespace
}  // namespace pinfold::podresources
