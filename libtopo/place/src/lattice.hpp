#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pinfold/place/arena.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold::place {

/// Numbers the masks that hints and merged hints of one machine can have: every subset on up to 16
/// nodes, the masks of for_each_hint_mask on larger machines. The intersection of two of them is a
/// third one (or empty), so they form a meet-semilattice, on which a product of sums counts meets:
///
///   sums_above(f)[m] = the sum of f[h] over all h that contain m
///
/// Multiply the sums of several lists, undo the summation, and the value at m is the number of
/// choices of one mask per list whose intersection is exactly m. All arithmetic is modulo 2^64,
/// which is exact while the number of all choices is below that (kExactFactors).
class MaskLattice {
 public:
  explicit MaskLattice(int node_count);

  /// Products of the sums of up to 4 tables of 0 and 1 are exact: a lattice has fewer than 2^16
  /// non-empty masks.
  static constexpr int kExactFactors = 4;

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Returns the number of a mask, or kOutside if it has none. (An optional would read better, but
  /// a merge of long lists would spend most of its time here.)
  [[nodiscard]] std::size_t index(NumaMask mask) const {
    if (!every_subset()) return index_in_family(mask);
    return mask.bits() < size_ ? static_cast<std::size_t>(mask.bits()) : kOutside;
  }
  static constexpr std::size_t kOutside = ~std::size_t{0};

  void sums_above(std::span<std::uint64_t> table, Arena& arena) const;
  void undo_sums_above(std::span<std::uint64_t> table, Arena& arena) const;

  /// Calls visit(NumaMask, std::size_t index) for every mask except the empty one.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (every_subset()) {
      for (std::size_t bits = 1; bits < size_; ++bits) visit(NumaMask(bits), bits);
      return;
    }
    for_each_hint_mask(nodes_, [&](NumaMask mask) { visit(mask, index(mask)); });
  }

 private:
  [[nodiscard]] bool every_subset() const { return nodes_ <= kMaxNodesForEveryMask; }
  [[nodiscard]] std::size_t index_in_family(NumaMask mask) const;
  [[nodiscard]] std::size_t pair_index(int low, int high) const;
  [[nodiscard]] std::size_t triple_index(int low, int middle, int high) const;
  [[nodiscard]] std::size_t run_index(int first, int last) const;

  /// Returns, for every range first to last, the sum over the runs of more than three nodes that
  /// contain it.
  [[nodiscard]] std::span<std::uint64_t> run_sums(std::span<const std::uint64_t> table,
                                                  Arena& arena) const;
  template <class Visit>
  void for_each_run(Visit&& visit) const;
  template <class Visit>
  void for_each_triple(Visit&& visit) const;
  template <class Visit>
  void for_each_pair(Visit&& visit) const;

  int nodes_;
  std::size_t first_triple_ = 0;  ///< after the single nodes and the pairs
  std::size_t first_run_ = 0;     ///< after the triples
  std::size_t size_;
};

}  // namespace pinfold::place
