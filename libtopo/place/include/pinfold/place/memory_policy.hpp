#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tl/expected.hpp>

#include "pinfold/place/arena.hpp"
#include "pinfold/place/hints.hpp"
#include "pinfold/place/mask_sums.hpp"

/// The memory manager's static policy on plain numbers: no pods, no names, no state.
namespace pinfold::place {

/// The NUMA nodes as assignments left them, by position. NUMA nodes that serve one request together
/// form a group; no request may use a part of one.
struct MemoryNodes {
  std::span<const std::int32_t> assignments;  ///< number of blocks on each
  std::span<const NumaMask> groups;           ///< the group of each, itself included
};

/// A request for one kind of memory: regular memory, or huge pages of one size.
struct MemoryDemand {
  std::uint64_t bytes = 0;
  std::span<const std::uint64_t> free;         ///< bytes on each NUMA node
  std::span<const std::uint64_t> allocatable;  ///< bytes on each NUMA node
  std::size_t kind = 0;                        ///< a number of the caller's
};

/// What init containers of the pod left on exactly these NUMA nodes.
struct Leftover {
  NumaMask nodes;
  std::size_t demand = 0;  ///< index
  std::uint64_t bytes = 0;
};

/// Which sets of NUMA nodes can provide all demands of a request at once: all kinds of memory have
/// the same hints. Preferred are those with as few NUMA nodes as an empty machine would need.
class MemoryRule final : public HintRule {
 public:
  MemoryRule(const MemoryNodes& nodes, std::span<const MemoryDemand> demands,
             std::span<const Leftover> leftovers, Arena& arena);

  [[nodiscard]] Fit fit(NumaMask mask) const override;
  [[nodiscard]] bool may_prefer(int width) const override { return width == preferred_width_; }

  [[nodiscard]] std::size_t demand_count() const { return demands_.size(); }
  [[nodiscard]] const MemoryDemand& demand(std::size_t index) const { return demands_[index]; }
  /// Returns the hint with the fewest NUMA nodes, then the lowest mask, that contains `within`;
  /// none if it has no mask.
  [[nodiscard]] TopologyHint narrowest_with(NumaMask within) const;
  /// Returns whether the mask has enough free memory, not counting what init containers left.
  [[nodiscard]] bool has_free(NumaMask mask) const;
  /// Returns whether a mask of several NUMA nodes overlaps another group, or a node that serves
  /// requests alone.
  [[nodiscard]] bool violates_groups(NumaMask mask) const;
  /// Returns whether the mask is a single NUMA node that belongs to a group of several.
  [[nodiscard]] bool is_grouped_node(NumaMask mask) const {
    return mask.is_single() && grouped_.contains_all(mask);
  }

 private:
  using Sums = MaskSums<std::uint64_t>;

  [[nodiscard]] bool has_allocatable(NumaMask mask) const;
  [[nodiscard]] bool has_free_or_leftover(NumaMask mask) const;
  [[nodiscard]] static int least_nodes(const MemoryDemand& demand, Arena& arena);
  [[nodiscard]] int find_preferred_width(Arena& arena) const;

  MemoryNodes nodes_;
  std::span<const MemoryDemand> demands_;
  std::span<const Leftover> leftovers_;
  std::span<Sums> free_;
  std::span<Sums> allocatable_;
  NumaMask assigned_;  ///< NUMA nodes with at least one assignment
  NumaMask grouped_;   ///< NUMA nodes in a group of several
  int preferred_width_ = 0;
};

/// Returns the most bytes that a MemoryRule takes from its arena.
[[nodiscard]] std::size_t memory_bytes(std::size_t nodes, std::size_t demands);

/// The NUMA nodes of a request, and why these.
struct MemoryChoice {
  enum class Why : std::uint8_t { kAffinity, kNoAffinity, kExtended };
  NumaMask nodes;
  Why why = Why::kAffinity;
};
/// Chooses the NUMA nodes that provide a request. `overwrites_groups`: see
/// Quirks::single_node_overwrites_group. Errors: the kubelet's text.
[[nodiscard]] tl::expected<MemoryChoice, const char*> choose_nodes(const MemoryRule& rule,
                                                                   const TopologyHint& affinity,
                                                                   bool overwrites_groups);

/// Takes up to `bytes` from one NUMA node. Returns what is left to take.
[[nodiscard]] inline std::uint64_t take_part(std::uint64_t& free, std::uint64_t& reserved,
                                             std::uint64_t bytes) {
  const std::uint64_t part = std::min(bytes, free);
  free -= part;
  reserved += part;
  return bytes - part;
}
/// Reverses take_part.
[[nodiscard]] inline std::uint64_t release_part(std::uint64_t& free, std::uint64_t& reserved,
                                                std::uint64_t bytes) {
  return take_part(reserved, free, bytes);
}

}  // namespace pinfold::place
