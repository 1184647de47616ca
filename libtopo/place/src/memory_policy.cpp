#include "pinfold/place/memory_policy.hpp"

#include <functional>
#include <limits>

namespace pinfold::place {

MemoryRule::MemoryRule(const MemoryNodes& nodes, std::span<const MemoryDemand> demands,
                       std::span<const Leftover> leftovers, Arena& arena)
    : nodes_(nodes),
      demands_(demands),
      leftovers_(leftovers),
      free_(arena.make_raw<Sums>(demands.size())),
      allocatable_(arena.make_raw<Sums>(demands.size())) {
  for (std::size_t i = 0; i < nodes.groups.size(); ++i) {
    const NumaMask node = NumaMask::of(static_cast<int>(i));
    if (nodes.assignments[i] > 0) assigned_ = assigned_ | node;
    if (!nodes.groups[i].empty() && !nodes.groups[i].is_single()) grouped_ = grouped_ | node;
  }
  for (std::size_t i = 0; i < demands.size(); ++i) {
    free_[i] = Sums(demands[i].free, arena);
    allocatable_[i] = Sums(demands[i].allocatable, arena);
  }
  preferred_width_ = demands.empty() ? 0 : find_preferred_width(arena);
  const auto count = static_cast<int>(nodes.groups.size());
  if (preferred_width_ > 0) set_widths(preferred_width_, count);
}

/// Returns the fewest NUMA nodes that can have as much; 1 if the sum of all exceeds 64 bits, see
/// Quirks::excess_reserved_memory_wraps_around. More than all of them if even those do not.
int MemoryRule::least_nodes(const MemoryDemand& demand, Arena& arena) {
  const Arena::Scope scope(arena);
  const auto amounts = arena.copy(demand.allocatable);
  std::sort(amounts.begin(), amounts.end(), std::greater<>());
  if (amounts[0] > std::numeric_limits<std::uint64_t>::max() / amounts.size()) return 1;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    sum += amounts[i];
    if (sum >= demand.bytes) return static_cast<int>(i) + 1;
  }
  return static_cast<int>(amounts.size()) + 1;
}

/// Returns the fewest NUMA nodes on which an empty machine has enough; 0 if it has not.
int MemoryRule::find_preferred_width(Arena& arena) const {
  const auto count = static_cast<int>(nodes_.groups.size());
  for (int node = 0; node < count; ++node) {
    if (has_allocatable(NumaMask::of(node))) return 1;
  }
  int width = 2;
  for (const MemoryDemand& demand : demands_) width = std::max(width, least_nodes(demand, arena));
  for (; width <= count; ++width) {
    const NumaMask found =
        lowest_hint_mask(count, width, [&](NumaMask mask) { return has_allocatable(mask); });
    if (!found.empty()) return width;
  }
  return 0;
}

bool MemoryRule::has_free(NumaMask mask) const {
  for (std::size_t i = 0; i < demands_.size(); ++i) {
    if (free_[i].of(mask) < demands_[i].bytes) return false;
  }
  return true;
}

bool MemoryRule::has_allocatable(NumaMask mask) const {
  for (std::size_t i = 0; i < demands_.size(); ++i) {
    if (allocatable_[i].of(mask) < demands_[i].bytes) return false;
  }
  return true;
}

bool MemoryRule::has_free_or_leftover(NumaMask mask) const {
  for (std::size_t i = 0; i < demands_.size(); ++i) {
    std::uint64_t bytes = free_[i].of(mask);
    for (const Leftover& leftover : leftovers_) {
      if (leftover.nodes == mask && leftover.demand == i) bytes += leftover.bytes;
    }
    if (bytes < demands_[i].bytes) return false;
  }
  return true;
}

bool MemoryRule::violates_groups(NumaMask mask) const {
  if (mask.is_single()) return false;
  for (const int position : (mask & assigned_).positions()) {
    if (nodes_.groups[static_cast<std::size_t>(position)] != mask) return true;
  }
  return false;
}

Fit MemoryRule::fit(NumaMask mask) const {
  if (is_grouped_node(mask) || violates_groups(mask)) return Fit::kNo;
  if (!has_free_or_leftover(mask) || !has_allocatable(mask)) return Fit::kNo;
  return mask.count() == preferred_width_ ? Fit::kPreferred : Fit::kYes;
}

TopologyHint MemoryRule::narrowest_with(NumaMask within) const {
  for (int width = narrowest(); width <= widest(); ++width) {
    const NumaMask found = lowest_hint_mask(widest(), width, [&](NumaMask mask) {
      return mask.contains_all(within) && fit(mask) != Fit::kNo;
    });
    if (!found.empty()) return {found, width == preferred_width_};
  }
  return {};
}

std::size_t memory_bytes(std::size_t nodes, std::size_t demands) {
  const std::size_t sums = 4 * (nodes + 4) * sizeof(std::uint64_t);
  const std::size_t of_demand = 2 * (sums + sizeof(MaskSums<std::uint64_t>)) + 64;
  return demands * of_demand + nodes * sizeof(std::uint64_t) + 64;
}

tl::expected<MemoryChoice, const char*> choose_nodes(const MemoryRule& rule,
                                                     const TopologyHint& affinity,
                                                     bool overwrites_groups) {
  MemoryChoice choice;
  TopologyHint best = affinity;
  if (!best.numa) {
    const TopologyHint found = rule.narrowest_with(NumaMask());
    if (!found.numa) {
      return tl::unexpected<const char*>(
          "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
          "memory is available");
    }
    if (!found.preferred && best.preferred) {
      return tl::unexpected<const char*>(
          "[memorymanager] failed to find the default preferred hint");
    }
    best = found;
    choice.why = MemoryChoice::Why::kNoAffinity;
  }
  // QUIRK: without the quirk, a single NUMA node of a group is extended like an
  // affinity that is too small.
  const bool extends_to_group = !overwrites_groups && rule.is_grouped_node(*best.numa);
  if (!rule.has_free(*best.numa) || extends_to_group) {
    const TopologyHint found = rule.narrowest_with(*best.numa);
    if (!found.numa) {
      return tl::unexpected<const char*>(
          "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
    }
    if (!found.preferred && best.preferred) {
      return tl::unexpected<const char*>(
          "[memorymanager] failed to find the extended preferred hint");
    }
    if (found.numa != best.numa) choice.why = MemoryChoice::Why::kExtended;
    best = found;
  }
  if (rule.violates_groups(*best.numa)) {
    return tl::unexpected<const char*>(
        "[memorymanager] preferred hint violates NUMA node allocation");
  }
  choice.nodes = *best.numa;
  return choice;
}

}  // namespace pinfold::place
