#include <algorithm>
#include <set>

#include "pinfold/predict/node_topology.hpp"
#include "topology_names.hpp"

namespace pinfold {
namespace {

/// Resource name to amount.
using Counts = std::map<std::string, std::int64_t>;

Quantity count(std::int64_t amount) { return Quantity::of(amount, Quantity::Format::kDecimalSi); }
Quantity bytes(std::uint64_t amount) { return Quantity::bytes(static_cast<std::int64_t>(amount)); }

void add_cpus(const Node& node, const NodeState& state, int position, Zone& zone) {
  const CpuSet& cpus = node.machine().cpus_of_numa(position);
  if (cpus.empty()) return;
  const CpuSet allocatable = cpus - node.cpu().reserved();
  const CpuSet available =
      node.cpu().is_static() ? allocatable & state.cpu.default_set : allocatable;
  zone.resources.push_back({"cpu", count(static_cast<std::int64_t>(cpus.size())),
                            count(static_cast<std::int64_t>(allocatable.size())),
                            count(static_cast<std::int64_t>(available.size()))});
}

/// With memory manager policy None, memory is not accounted for by NUMA node, so all of it is
/// available.
void add_unmanaged_memory(const NumaNode& numa, Zone& zone) {
  std::uint64_t pages = 0;
  for (const auto& [size, amount] : numa.hugepages) {
    zone.resources.push_back({size, bytes(amount), bytes(amount), bytes(amount)});
    pages += amount;
  }
  if (numa.memory == 0) return;
  const Quantity rest = bytes(numa.memory - std::min(pages, numa.memory));
  zone.resources.push_back({"memory", bytes(numa.memory), rest, rest});
}

void add_memory(const Node& node, const NodeState& state, int position, Zone& zone) {
  const NumaNode& numa = node.machine().numa_nodes()[static_cast<std::size_t>(position)];
  const auto managed = state.memory.machine_state.find(numa.id.value);
  if (!node.memory().is_static() || managed == state.memory.machine_state.end()) {
    return add_unmanaged_memory(numa, zone);
  }
  for (const auto& [name, table] : managed->second.tables) {
    zone.resources.push_back(
        {name, bytes(table.total), bytes(table.allocatable), bytes(table.free)});
  }
}

/// Returns the ids of devices that containers hold, by resource.
std::map<std::string, std::set<std::string>> devices_in_use(const DeviceState& state) {
  std::map<std::string, std::set<std::string>> in_use;
  for (const auto& [uid, container, resources] : state.assignments) {
    for (const auto& [resource, ids] : resources) in_use[resource].insert(ids.begin(), ids.end());
  }
  return in_use;
}

void add_devices(const Machine& machine, const NodeState& state, int position, Zone& zone) {
  const auto in_use = devices_in_use(state.devices);
  Counts all;
  Counts taken;
  for (const Device& device : machine.devices()) {
    const auto& nodes = device.numa_nodes;
    if (std::find(nodes.begin(), nodes.end(), machine.numa_id(position)) == nodes.end()) continue;
    ++all[device.resource];
    const auto used = in_use.find(device.resource);
    if (used != in_use.end() && used->second.contains(device.id)) ++taken[device.resource];
  }
  for (const auto& [resource, amount] : all) {
    zone.resources.push_back(
        {resource, count(amount), count(amount), count(amount - taken[resource])});
  }
}

}  // namespace

NodeTopology describe(const Node& node, const NodeState& state, std::string name) {
  const Machine& machine = node.machine();
  NodeTopology topology;
  topology.name = std::move(name);
  topology.attributes = {
      {std::string(predict::kPolicyAttribute), node.config().topology_manager_policy},
      {std::string(predict::kScopeAttribute), node.config().topology_manager_scope},
      {std::string(predict::kCpuPolicyAttribute), node.config().cpu_manager_policy},
      {std::string(predict::kMemoryPolicyAttribute), node.config().memory_manager_policy}};
  for (int position = 0; position < machine.numa_count(); ++position) {
    Zone zone;
    zone.name = predict::zone_name(machine.numa_id(position));
    zone.type = "Node";
    const auto& distances = machine.numa_nodes()[static_cast<std::size_t>(position)].distances;
    for (std::size_t other = 0; other < distances.size(); ++other) {
      zone.costs.push_back(
          {predict::zone_name(machine.numa_id(static_cast<int>(other))), distances[other]});
    }
    add_cpus(node, state, position, zone);
    add_devices(machine, state, position, zone);
    add_memory(node, state, position, zone);
    topology.zones.push_back(std::move(zone));
  }
  return topology;
}

}  // namespace pinfold
