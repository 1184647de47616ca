#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/memory/memory_state.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/mask_sums.hpp"
#include "requests.hpp"

namespace pinfold::memory_detail {

/// Bytes that the init containers of one pod leave, by exact mask and by resource.
using ReusableOfPod = std::map<NumaMask, std::map<std::string, std::uint64_t>>;

/// Searches for the masks that can provide the memory of one request. All resources of a request
/// are searched together: a mask counts only if all of them fit, so they have the same hints. Works
/// on flat copies, so that a mask costs a few additions.
class HintSearch {
 public:
  /// `reusable` may be nullptr and must outlive the search.
  HintSearch(const Machine& machine, const MemoryState& state, const Requests& requests,
             const ReusableOfPod* reusable);

  /// Returns every hint, in the kubelet's order.
  [[nodiscard]] std::vector<TopologyHint> all() const;
  /// Returns the hint with the fewest NUMA nodes, then the lowest mask, that contains `within`.
  [[nodiscard]] std::optional<TopologyHint> narrowest(NumaMask within) const;

  /// Returns whether the mask has enough free memory, not counting what init containers left.
  [[nodiscard]] bool has_free(NumaMask mask) const;
  /// Returns whether a mask of several NUMA nodes overlaps another group, or a node that serves
  /// requests alone.
  [[nodiscard]] bool violates_groups(NumaMask mask) const;
  /// Returns whether the mask is a single NUMA node that belongs to a group of several.
  [[nodiscard]] bool is_grouped_node(NumaMask mask) const;

 private:
  using Sums = MaskSums<std::uint64_t>;
  struct Demand {
    std::string resource;
    std::uint64_t bytes = 0;
    Sums free;
    Sums allocatable;
  };

  [[nodiscard]] bool has_allocatable(NumaMask mask) const;
  [[nodiscard]] bool has_free_or_reusable(NumaMask mask) const;
  /// Returns whether the groups allow the mask and it has enough free or reusable memory.
  [[nodiscard]] bool is_feasible(NumaMask mask) const;

  int node_count_;
  std::vector<Demand> demands_;
  NumaMask assigned_;  ///< NUMA nodes with at least one assignment
  NumaMask grouped_;   ///< NUMA nodes in a group of several
  std::array<NumaMask, NumaMask::kMaxNodes> group_;
  const ReusableOfPod* reusable_;
};

/// Returns the mask of those OS ids that the machine has.
[[nodiscard]] NumaMask mask_of(const Machine& machine, const std::vector<std::int32_t>& ids);

}  // namespace pinfold::memory_detail
