#include "pinfold/podresources/pod_resources.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "messages.hpp"

namespace pinfold::podresources {
namespace {

/// The NUMA nodes of each device, by resource and id.
using DeviceNodes = std::map<std::pair<std::string_view, std::string_view>, std::vector<NumaId>>;

DeviceNodes device_nodes(const Machine& machine) {
  DeviceNodes nodes;
  for (const Device& device : machine.devices()) {
    nodes.emplace(DeviceNodes::key_type(device.resource, device.id), device.numa_nodes);
  }
  return nodes;
}

/// `add` appends a message of v1 or v1alpha1.
template <class Add>
void add_devices(const DeviceNodes& nodes, const NodeState& state, const ContainerId& container,
                 const Add& add) {
  const auto* const devices = state.devices.assignments.find(container);
  if (devices == nullptr) return;
  for (const auto& [resource, ids] : *devices) {
    for (const std::string& id : ids) {
      const auto found = nodes.find({resource, id});
      add_device(resource, id, found == nodes.end() ? std::vector<NumaId>() : found->second, add);
    }
  }
}

void fill(const DeviceNodes& nodes, const NodeState& state, const ContainerId& container,
          ::v1::ContainerResources& out) {
  out.set_name(container.name);
  add_devices(nodes, state, container, [&] { return out.add_devices(); });
  if (const CpuSet* const cpus = state.cpu.assignments.find(container)) {
    add_cpus(*cpus, *out.mutable_cpu_ids());
  }
  const auto* const blocks = state.memory.assignments.find(container);
  if (blocks == nullptr) return;
  for (const MemoryBlock& block : *blocks) {
    ::v1::ContainerMemory& memory = *out.add_memory();
    memory.set_memory_type(block.type);
    memory.set_size(block.size);
    for (const std::int32_t id : block.numa_affinity) {
      add_node(NumaId{id}, *memory.mutable_topology());
    }
  }
}

void fill(const DeviceNodes& nodes, const NodeState& state, const PodSpec& pod,
          ::v1::PodResources& out) {
  out.set_name(pod.name);
  out.set_namespace_(pod.namespace_name);
  for (const ContainerKind kind : {ContainerKind::kSidecar, ContainerKind::kApp}) {
    for (const Container& container : pod.containers) {
      if (container.kind != kind) continue;
      fill(nodes, state, {pod.uid, container.name}, *out.add_containers());
    }
  }
}

}  // namespace

::v1::ListPodResourcesResponse list(const Machine& machine, const NodeState& state) {
  ::v1::ListPodResourcesResponse response;
  const DeviceNodes nodes = device_nodes(machine);
  for (const ActivePod& pod : state.pods) {
    fill(nodes, state, pod.spec, *response.add_pod_resources());
  }
  return response;
}

Result<::v1::GetPodResourcesResponse> get(const Machine& machine, const NodeState& state,
                                          std::string_view name, std::string_view namespace_name) {
  for (const ActivePod& pod : state.pods) {
    if (pod.spec.name != name || pod.spec.namespace_name != namespace_name) continue;
    ::v1::GetPodResourcesResponse response;
    fill(device_nodes(machine), state, pod.spec, *response.mutable_pod_resources());
    return response;
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("pod {} in namespace {} not found", name, namespace_name));
}

::v1alpha1::ListPodResourcesResponse list_v1alpha1(const Machine& machine, const NodeState& state) {
  ::v1alpha1::ListPodResourcesResponse response;
  const DeviceNodes nodes = device_nodes(machine);
  for (const ActivePod& pod : state.pods) {
    ::v1alpha1::PodResources& out = *response.add_pod_resources();
    out.set_name(pod.spec.name);
    out.set_namespace_(pod.spec.namespace_name);
    for (const Container& container : pod.spec.containers) {
      if (container.kind != ContainerKind::kApp) continue;
      ::v1alpha1::ContainerResources& entry = *out.add_containers();
      entry.set_name(container.name);
      add_devices(nodes, state, {pod.spec.uid, container.name},
                  [&] { return entry.add_devices(); });
    }
  }
  return response;
}

::v1::AllocatableResourcesResponse allocatable(const Node& node, const NodeState& state) {
  ::v1::AllocatableResourcesResponse response;
  const Machine& machine = node.machine();
  for (const Device& device : machine.devices()) {
    add_device(device.resource, device.id, device.numa_nodes,
               [&] { return response.add_devices(); });
  }
  if (node.cpu().is_static()) {
    add_cpus(node.cpu().allocatable(), *response.mutable_cpu_ids());
  }
  if (!node.memory().is_static()) return response;
  for (const auto& [id, memory] : state.memory.machine_state) {
    for (const auto& [type, table] : memory.tables) {
      if (table.allocatable == 0) continue;
      ::v1::ContainerMemory& entry = *response.add_memory();
      entry.set_memory_type(type);
      entry.set_size(table.allocatable);
      add_node(NumaId{id}, *entry.mutable_topology());
    }
  }
  return response;
}

}  // namespace pinfold::podresources
