#include "hint_search.hpp"

namespace pinfold::memory_detail {

NumaMask mask_of(const Machine& machine, const std::vector<std::int32_t>& ids) {
  NumaMask mask;
  for (const std::int32_t id : ids) {
    if (const auto position = machine.numa_position(NumaId{id})) {
      mask = mask | NumaMask::of(*position);
    }
  }
  return mask;
}

HintSearch::HintSearch(const Machine& machine, const MemoryState& state, const Requests& requests,
                       const ReusableOfPod* reusable)
    : node_count_(machine.numa_count()), reusable_(reusable) {
  std::vector<const NodeMemory*> nodes(static_cast<std::size_t>(node_count_), nullptr);
  for (int position = 0; position < node_count_; ++position) {
    const auto found = state.machine_state.find(machine.numa_id(position).value);
    if (found == state.machine_state.end()) continue;
    const auto index = static_cast<std::size_t>(position);
    const NodeMemory& node = *(nodes[index] = &found->second);
    if (node.number_of_assignments > 0) assigned_ = assigned_ | NumaMask::of(position);
    if (node.cells.size() > 1) grouped_ = grouped_ | NumaMask::of(position);
    group_[index] = mask_of(machine, node.cells);
  }
  for (const auto& [resource, bytes] : requests) {
    std::vector<std::uint64_t> free(nodes.size());
    std::vector<std::uint64_t> allocatable(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] == nullptr) continue;
      // DIFFERENCE: a NUMA node without a huge-page size has 0 bytes of it, where the kubelet
      // crashes.
      const auto table = nodes[i]->tables.find(resource);
      if (table == nodes[i]->tables.end()) continue;
      free[i] = table->second.free;
      allocatable[i] = table->second.allocatable;
    }
    demands_.push_back({resource, bytes, Sums(free), Sums(allocatable)});
  }
}

bool HintSearch::has_free(NumaMask mask) const {
  for (const Demand& demand : demands_) {
    if (demand.free.of(mask) < demand.bytes) return false;
  }
  return true;
}

bool HintSearch::has_allocatable(NumaMask mask) const {
  for (const Demand& demand : demands_) {
    if (demand.allocatable.of(mask) < demand.bytes) return false;
  }
  return true;
}

bool HintSearch::has_free_or_reusable(NumaMask mask) const {
  if (reusable_ == nullptr) return has_free(mask);
  const auto left = reusable_->find(mask);
  if (left == reusable_->end()) return has_free(mask);
  for (const Demand& demand : demands_) {
    const auto bytes = left->second.find(demand.resource);
    const std::uint64_t extra = bytes == left->second.end() ? 0 : bytes->second;
    if (demand.free.of(mask) + extra < demand.bytes) return false;
  }
  return true;
}

bool HintSearch::violates_groups(NumaMask mask) const {
  if (mask.count() == 1) return false;
  for (const int position : (mask & assigned_).positions()) {
    if (group_[static_cast<std::size_t>(position)] != mask) return true;
  }
  return false;
}

bool HintSearch::is_grouped_node(NumaMask mask) const {
  return mask.count() == 1 && grouped_.contains_all(mask);
}

bool HintSearch::is_feasible(NumaMask mask) const {
  return !is_grouped_node(mask) && !violates_groups(mask) && has_free_or_reusable(mask);
}

std::vector<TopologyHint> HintSearch::all() const {
  std::vector<TopologyHint> hints;
  if (demands_.empty()) return hints;
  if (node_count_ <= kMaxNodesForEveryMask) hints.reserve(std::size_t{1} << node_count_);
  int preferred_width = node_count_;
  for_each_hint_mask(node_count_, [&](NumaMask mask) {
    // Capacity determines the preferred width, so it is checked first until that width is known;
    // afterwards the cheapest check comes first.
    const bool may_set_width = mask.count() < preferred_width;
    if (may_set_width) {
      if (!has_allocatable(mask)) return;
      preferred_width = mask.count();
    }
    if (!is_feasible(mask) || (!may_set_width && !has_allocatable(mask))) return;
    hints.push_back({mask, false});
  });
  for (TopologyHint& hint : hints) hint.preferred = hint.numa->count() == preferred_width;
  return hints;
}

std::optional<TopologyHint> HintSearch::narrowest(NumaMask within) const {
  if (demands_.empty()) return std::nullopt;
  bool wider_than_preferred = false;
  for (int width = 1; width <= node_count_; ++width) {
    bool capacity_found = false;
    std::optional<NumaMask> best;
    for_each_hint_mask_of_width(node_count_, width, [&](NumaMask mask) {
      if (!has_allocatable(mask)) return;
      capacity_found = true;
      if (!mask.contains_all(within) || !is_feasible(mask)) return;
      if (!best || mask.narrower_than(*best)) best = mask;
    });
    if (best) return TopologyHint{*best, !wider_than_preferred};
    wider_than_preferred = wider_than_preferred || capacity_found;
  }
  return std::nullopt;
}

}  // namespace pinfold::memory_detail
