#include "pinfold/predict/observed_placement.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "topology_names.hpp"

namespace pinfold {
namespace {

/// Zone and resource to amount in base units.
using ZoneAmounts = std::map<std::pair<std::string, std::string>, std::int64_t>;

CpuSet cpus_of(const CpuState& state, const PodUid& pod) {
  CpuSet cpus;
  if (const auto* const containers = state.assignments.find(pod)) {
    for (const auto& [name, assigned] : *containers) cpus = cpus | assigned;
  }
  const auto whole = state.pods.find(pod);
  return whole == state.pods.end() ? cpus : cpus | whole->second;
}

void add_cpus(const Machine& machine, const CpuSet& cpus, ZoneAmounts& out) {
  const std::int64_t one = base_units("cpu", Quantity::of(1, Quantity::Format::kDecimalSi));
  for (int position = 0; position < machine.numa_count(); ++position) {
    const auto count = (cpus & machine.cpus_of_numa(position)).size();
    if (count == 0) continue;
    out[{predict::zone_name(machine.numa_id(position)), "cpu"}] =
        static_cast<std::int64_t>(count) * one;
  }
}

void add_devices(const Machine& machine, const DeviceState& state, const PodUid& pod,
                 ZoneAmounts& out) {
  const auto* const containers = state.assignments.find(pod);
  if (containers == nullptr) return;
  std::map<std::string, std::set<std::string>> held;  // later containers reuse those of others
  for (const auto& [name, resources] : *containers) {
    for (const auto& [resource, ids] : resources) held[resource].insert(ids.begin(), ids.end());
  }
  for (const Device& device : machine.devices()) {
    const auto ids = held.find(device.resource);
    if (ids == held.end() || !ids->second.contains(device.id)) continue;
    if (device.numa_nodes.size() != 1) continue;
    ++out[{predict::zone_name(device.numa_nodes.front()), device.resource}];
  }
}

/// Returns the blocks of the whole pod if it has any, else those of its containers.
std::vector<MemoryBlock> blocks_of(const Node& node, const MemoryState& state, const PodUid& pod) {
  const auto whole = state.pods.find(pod);
  const bool has_whole = whole != state.pods.end() && !whole->second.empty();
  if (node.gates().pod_level_resource_managers && has_whole) return whole->second;
  std::vector<MemoryBlock> blocks;
  if (const auto* const containers = state.assignments.find(pod)) {
    for (const auto& [name, own] : *containers) blocks.insert(blocks.end(), own.begin(), own.end());
  }
  return blocks;
}

std::vector<MemoryGroup> groups_of(const std::vector<MemoryBlock>& blocks) {
  std::map<std::vector<std::int32_t>, MemoryGroup> groups;
  for (const MemoryBlock& block : blocks) {
    groups[block.numa_affinity].amounts[block.type] += static_cast<std::int64_t>(block.size);
  }
  std::vector<MemoryGroup> out;
  for (auto& [ids, group] : groups) {
    for (const std::int32_t id : ids) group.zones.push_back(predict::zone_name(NumaId{id}));
    out.push_back(std::move(group));
  }
  return out;
}

void add_memory(const std::vector<MemoryGroup>& groups, ZoneAmounts& out) {
  for (const MemoryGroup& group : groups) {
    if (group.zones.size() != 1) continue;
    for (const auto& [type, bytes] : group.amounts) {
      if (bytes > 0) out[{group.zones.front(), type}] = bytes;
    }
  }
}

}  // namespace

ObservedPlacement observed_placement(const Node& node, const NodeState& state, const PodUid& pod) {
  ObservedPlacement placement;
  placement.memory = groups_of(blocks_of(node, state.memory, pod));
  ZoneAmounts amounts;
  add_cpus(node.machine(), cpus_of(state.cpu, pod), amounts);
  add_devices(node.machine(), state.devices, pod, amounts);
  add_memory(placement.memory, amounts);
  for (const auto& [key, amount] : amounts) {
    placement.amounts.push_back({key.first, key.second, amount});
  }
  return placement;
}

}  // namespace pinfold
