#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/memory/memory_manager.hpp"
#include "requests.hpp"

namespace pinfold::memory_detail {

/// Bytes left by init containers of one pod, by the exact mask they had and by resource.
using ReusableOfPod = std::map<NumaMask, std::map<std::string, std::uint64_t>>;

/// Where the memory of one request could come from. All resources of a request are looked for
/// together: a mask counts only if each of them fits, so that all have the same hints.
/// Built from flat copies: a mask costs a few additions.
class HintSearch {
 public:
  /// `reusable` may be nullptr and must outlive the search.
  HintSearch(const Machine& machine, const MemoryState& state, const Requests& requests,
             const ReusableOfPod* reusable);

  /// Every hint, in the kubelet's order.
  [[nodiscard]] std::vector<TopologyHint> all() const;
  /// The hint with the fewest nodes, then the lowest mask, among those that hold all of `within`.
  [[nodiscard]] std::optional<TopologyHint> narrowest(NumaMask within) const;

  /// Is enough free in the mask, without what init containers left?
  [[nodiscard]] bool has_free(NumaMask mask) const;
  /// Would the mask overlap another group of nodes, or a node that serves single-node requests?
  [[nodiscard]] bool violates_groups(NumaMask mask) const;
  /// Is it one node that belongs to a group of several?
  [[nodiscard]] bool is_grouped_node(NumaMask mask) const;

 private:
  using PerNode = std::array<std::uint64_t, NumaMask::kMaxNodes>;
  struct Demand {
    std::string resource;
    std::uint64_t bytes = 0;
    PerNode free{};
    PerNode allocatable{};
  };

  [[nodiscard]] bool has_allocatable(NumaMask mask) const;
  [[nodiscard]] bool has_free_or_reusable(NumaMask mask) const;
  /// May the groups take it, and is enough free?
  [[nodiscard]] bool is_feasible(NumaMask mask) const;

  int node_count_;
  std::vector<Demand> demands_;
  NumaMask assigned_;  ///< nodes with at least one assignment
  NumaMask grouped_;   ///< nodes whose group has more than one node
  std::array<NumaMask, NumaMask::kMaxNodes> group_;
  const ReusableOfPod* reusable_;
};

/// The mask of OS ids; ids that the machine does not have are left out.
[[nodiscard]] NumaMask mask_of(const Machine& machine, const std::vector<std::int32_t>& ids);

}  // namespace pinfold::memory_detail
