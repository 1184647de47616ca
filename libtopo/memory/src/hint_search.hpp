#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/memory/memory_manager.hpp"
#include "pinfold/types/mask_sums.hpp"
#include "requests.hpp"

namespace pinfold::memory_detail {

/// Bytes that init containers of one pod leave, by their exact mask and by resource.
using ReusableOfPod = std::map<NumaMask, std::map<std::string, std::uint64_t>>;

/// Searches the masks from which the memory of one request could come. All resources of a request
/// are searched together: a mask counts only if all of them fit, so they have the same hints. Works
/// on flat copies: a mask costs a few additions.
class HintSearch {
 public:
  /// `reusable` may be nullptr and must outlive the search.
  HintSearch(const Machine& machine, const MemoryState& state, const Requests& requests,
             const ReusableOfPod* reusable);

  /// Every hint, in the kubelet's order.
  [[nodiscard]] std::vector<TopologyHint> all() const;
  /// The hint with the fewest NUMA nodes, then the lowest mask, among those that contain `within`.
  [[nodiscard]] std::optional<TopologyHint> narrowest(NumaMask within) const;

  /// Whether enough is free in the mask, not counting what init containers left.
  [[nodiscard]] bool has_free(NumaMask mask) const;
  /// Whether the mask overlaps another group, or a NUMA node that serves requests alone.
  [[nodiscard]] bool violates_groups(NumaMask mask) const;
  /// Whether it is one NUMA node that belongs to a group of several.
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
  /// Whether the groups allow the mask, and enough is free or reusable in it.
  [[nodiscard]] bool is_feasible(NumaMask mask) const;

  int node_count_;
  std::vector<Demand> demands_;
  NumaMask assigned_;  ///< NUMA nodes with at least one assignment
  NumaMask grouped_;   ///< NUMA nodes in a group of several
  std::array<NumaMask, NumaMask::kMaxNodes> group_;
  const ReusableOfPod* reusable_;
};

/// The mask of the OS ids that the machine has.
[[nodiscard]] NumaMask mask_of(const Machine& machine, const std::vector<std::int32_t>& ids);

}  // namespace pinfold::memory_detail
