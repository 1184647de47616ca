#include "messages.hpp"
#include "pinfold/podresources/pod_resources.hpp"

namespace pinfold::podresources {

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
