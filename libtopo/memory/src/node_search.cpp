#include "node_search.hpp"

#include <span>

namespace pinfold::memory {

NumaMask mask_of(const Machine& machine, const std::vector<std::int32_t>& ids) {
  NumaMask mask;
  for (const std::int32_t id : ids) {
    if (const auto position = machine.numa_position(NumaId{id})) {
      mask = mask | NumaMask::of(*position);
    }
  }
  return mask;
}

NodeSearch::NodeSearch(const Machine& machine, const MemoryState& state, const PodUid& pod,
                       const Requests& requests)
    : assignments_(machine.numa_nodes().size()),
      groups_(machine.numa_nodes().size()),
      bytes_(2 * requests.size() * machine.numa_nodes().size()) {
  const std::size_t count = machine.numa_nodes().size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = state.machine_state.find(machine.numa_nodes()[i].id.value);
    if (found == state.machine_state.end()) continue;
    const NodeMemory& node = found->second;
    assignments_[i] = node.number_of_assignments;
    groups_[i] = mask_of(machine, node.cells);
    std::size_t at = i;
    for (const auto& [resource, bytes] : requests) {
      // DIFFERENCE: a NUMA node without a huge-page size has 0 bytes of it, where the kubelet
      // crashes.
      if (const auto table = node.tables.find(resource); table != node.tables.end()) {
        bytes_[at] = table->second.free;
        bytes_[at + count] = table->second.allocatable;
      }
      at += 2 * count;
    }
  }
  const std::span<const std::uint64_t> all(bytes_);
  for (const auto& [resource, bytes] : requests) {
    const std::size_t at = 2 * count * demands_.size();
    demands_.push_back({bytes, all.subspan(at, count), all.subspan(at + count, count)});
  }
  if (const auto of_pod = state.reusable.find(pod); of_pod != state.reusable.end()) {
    for (const auto& [mask, by_resource] : of_pod->second) {
      std::size_t demand = 0;
      for (const auto& [resource, bytes] : requests) {
        const auto left = by_resource.find(resource);
        if (left != by_resource.end()) leftovers_.push_back({mask, demand, left->second});
        ++demand;
      }
    }
  }
  memory_.emplace(place::memory_bytes(count, demands_.size()));
  rule_.emplace(place::MemoryNodes{assignments_, groups_}, demands_, leftovers_, memory_->arena());
}

}  // namespace pinfold::memory
