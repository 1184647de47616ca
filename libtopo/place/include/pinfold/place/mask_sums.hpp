#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "pinfold/place/arena.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold::place {

/// Sums one number per NUMA node over the nodes of a mask. Precomputes the sums within each group
/// of 4 neighbouring nodes, so that the sum of a mask costs one addition per 4 nodes.
template <class Number>
class MaskSums {
 public:
  MaskSums() = default;
  /// `per_node` is indexed by position.
  MaskSums(std::span<const Number> per_node, Arena& arena)
      : sums_(arena.make_raw<Number>((per_node.size() + kBits - 1) / kBits * kSize)) {
    for (std::size_t first = 0; first < per_node.size(); first += kBits) {
      const auto nodes = per_node.subspan(first, std::min(kBits, per_node.size() - first));
      const auto sums = sums_.subspan(first / kBits * kSize, kSize);
      sums[0] = Number{};
      for (std::size_t bit = 0; bit < nodes.size(); ++bit) {
        const std::size_t size = std::size_t{1} << bit;
        for (std::size_t i = 0; i < size; ++i) sums[size + i] = sums[i] + nodes[bit];
      }
    }
  }

  /// Returns the sum over the nodes of `mask`. Domain: positions that the constructor was given.
  [[nodiscard]] Number of(NumaMask mask) const {
    Number sum{};
    std::size_t start = 0;
    for (std::uint64_t bits = mask.bits(); bits != 0; bits >>= kBits) {
      sum += sums_[start + (bits & (kSize - 1))];
      start += kSize;
    }
    return sum;
  }

 private:
  static constexpr std::size_t kBits = 4;
  static constexpr std::size_t kSize = std::size_t{1} << kBits;
  std::span<Number> sums_;  ///< kSize sums for each 4 nodes
};

}  // namespace pinfold::place
