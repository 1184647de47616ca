#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pinfold/types/numa_mask.hpp"

namespace pinfold {

/// Sums one number per NUMA node over the nodes of a mask. Precomputes the sums within each group
/// of 8 neighbouring nodes, so that the sum of a mask costs one addition per 8 nodes of the
/// machine.
template <class Number>
class MaskSums {
 public:
  /// `per_node` is indexed by position.
  explicit MaskSums(std::span<const Number> per_node) {
    for (std::size_t first = 0; first < per_node.size(); first += kBits) {
      const auto nodes = per_node.subspan(first, std::min(kBits, per_node.size() - first));
      const std::size_t start = sums_.size();
      sums_.resize(start + (std::size_t{1} << nodes.size()));
      for (std::size_t bit = 0; bit < nodes.size(); ++bit) {
        const std::size_t size = std::size_t{1} << bit;
        for (std::size_t i = start; i < start + size; ++i) sums_[size + i] = sums_[i] + nodes[bit];
      }
    }
  }

  /// Returns the sum over the nodes of `mask`. Domain: positions that the constructor was given.
  [[nodiscard]] Number of(NumaMask mask) const {
    Number sum{};
    std::uint64_t bits = mask.bits();
    for (std::size_t start = 0; start < sums_.size(); start += kSize) {
      sum += sums_[start + (bits & (kSize - 1))];
      bits >>= kBits;
    }
    return sum;
  }

 private:
  static constexpr std::size_t kBits = 8;
  static constexpr std::size_t kSize = std::size_t{1} << kBits;
  std::vector<Number> sums_;  ///< kSize sums for each 8 nodes, fewer for the last ones
};

}  // namespace pinfold
