#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pinfold/align/topology_manager.hpp"

/// The merge behind TopologyManager::merge, in parts. docs/topology-merge.md has the argument why
/// its answer is the kubelet's.
namespace pinfold::align {

/// What one resource offers after the kubelet's filter: no list has become {any, preferred}, an
/// empty list {any, not preferred}. Borrows from the providers' maps.
struct Offer {
  std::string_view resource;  ///< empty for a provider without any entry
  std::span<const TopologyHint> hints;
};

[[nodiscard]] std::vector<Offer> collect_offers(std::span<const ResourceHints> providers);

/// What is the same for every mask of one merge.
struct MergeRules {
  NumaMask all;  ///< every node of the machine
  /// Of two masks of one width prefer the closer nodes; nullptr: prefer the lower mask.
  const std::vector<std::vector<std::uint32_t>>* distances = nullptr;
};

/// Keeps the best of the masks that it is shown. The kubelet compares masks of equal preference by
/// width first, then by distance if asked to, then by value; this is a total order, so the order of
/// the showing does not matter.
class BestMask {
 public:
  /// `wanted_width` is the width that a mask should have: 0 for preferred hints, where narrower is
  /// better. Else what is too narrow (the widest first) is better than what is too wide.
  BestMask(const MergeRules& rules, int wanted_width) : rules_(rules), wanted_(wanted_width) {}

  void show(NumaMask mask);
  [[nodiscard]] const std::optional<NumaMask>& best() const { return best_; }

 private:
  [[nodiscard]] int rank(int width) const {
    return width > wanted_ ? width : wanted_ - width - NumaMask::kMaxNodes;
  }
  [[nodiscard]] std::uint64_t distance(NumaMask mask) const;

  MergeRules rules_;
  int wanted_;
  std::optional<NumaMask> best_;
  int best_rank_ = 0;
  std::uint64_t best_distance_ = 0;
};

/// The best merged hint of which every part is preferred and has the same mask, if there is one.
[[nodiscard]] std::optional<NumaMask> merge_preferred(std::span<const Offer> offers,
                                                      const MergeRules& rules);

/// The best merged hint when none is preferred: the mask that is nearest in width to the resource
/// that needs most nodes. Nothing if no choice of one hint per resource has a node in common.
[[nodiscard]] std::optional<NumaMask> merge_not_preferred(std::span<const Offer> offers,
                                                          const MergeRules& rules);

}  // namespace pinfold::align
