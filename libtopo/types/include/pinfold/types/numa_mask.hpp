#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace pinfold {

/// A set of NUMA nodes of one machine, by position in Machine::numa_nodes() (0 to 63), not by OS
/// id: the ids of real machines go up to 255 and beyond, their number does not. The nodes of a
/// machine stand in ascending id order, so masks compare as the kubelet's bit masks of ids do.
class NumaMask {
 public:
  static constexpr int kMaxNodes = 64;

  constexpr NumaMask() = default;
  constexpr explicit NumaMask(std::uint64_t bits) : bits_(bits) {}
  /// The mask of one position. Domain: 0 to 63.
  [[nodiscard]] static constexpr NumaMask of(int position) {
    return NumaMask(std::uint64_t{1} << position);
  }
  /// The lowest `count` positions. Domain: 0 to 64.
  [[nodiscard]] static constexpr NumaMask all(int count) {
    return NumaMask(count >= kMaxNodes ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
  }

  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr int count() const { return std::popcount(bits_); }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr bool contains(int position) const {
    return ((bits_ >> position) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool contains_all(NumaMask other) const {
    return (bits_ & other.bits_) == other.bits_;
  }
  /// Lowest position. Domain: not empty.
  [[nodiscard]] constexpr int first() const { return std::countr_zero(bits_); }

  /// Positions in ascending order, for loops: for (int node : mask.positions()).
  class Positions {
   public:
    class Iterator {
     public:
      constexpr explicit Iterator(std::uint64_t rest) : rest_(rest) {}
      constexpr int operator*() const { return std::countr_zero(rest_); }
      constexpr Iterator& operator++() {
        rest_ &= rest_ - 1;
        return *this;
      }
      friend constexpr bool operator==(Iterator, Iterator) = default;

     private:
      std::uint64_t rest_;
    };
    constexpr explicit Positions(std::uint64_t bits) : bits_(bits) {}
    [[nodiscard]] constexpr Iterator begin() const { return Iterator(bits_); }
    [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }

   private:
    std::uint64_t bits_;
  };
  [[nodiscard]] constexpr Positions positions() const { return Positions(bits_); }

  /// The kubelet's IsNarrowerThan: fewer nodes, or as many and the lower mask.
  [[nodiscard]] constexpr bool narrower_than(NumaMask other) const {
    return count() != other.count() ? count() < other.count() : bits_ < other.bits_;
  }

  friend constexpr NumaMask operator&(NumaMask a, NumaMask b) {
    return NumaMask(a.bits_ & b.bits_);
  }
  friend constexpr NumaMask operator|(NumaMask a, NumaMask b) {
    return NumaMask(a.bits_ | b.bits_);
  }
  friend constexpr NumaMask operator-(NumaMask a, NumaMask b) {
    return NumaMask(a.bits_ & ~b.bits_);
  }
  /// By value, not by width: an order for maps.
  friend constexpr auto operator<=>(NumaMask, NumaMask) = default;

  /// The positions as a Linux list, "0-1,3".
  [[nodiscard]] std::string to_string() const;

 private:
  std::uint64_t bits_ = 0;
};

/// Calls visit(NumaMask) for every subset of `width` of the lowest `node_count` positions, in
/// lexicographic order by position. Domain: 1 <= width.
template <class Visit>
void for_each_mask_of_width(int node_count, int width, Visit&& visit) {
  if (width > node_count) return;
  std::vector<int> picked(static_cast<std::size_t>(width));
  for (int i = 0; i < width; ++i) picked[static_cast<std::size_t>(i)] = i;
  while (true) {
    std::uint64_t bits = 0;
    for (const int position : picked) bits |= std::uint64_t{1} << position;
    visit(NumaMask(bits));
    int i = width - 1;
    while (i >= 0 && picked[static_cast<std::size_t>(i)] == node_count - width + i) --i;
    if (i < 0) return;
    int next = ++picked[static_cast<std::size_t>(i)];
    while (++i < width) picked[static_cast<std::size_t>(i)] = ++next;
  }
}

/// Calls visit(NumaMask) for every non-empty subset of the lowest `node_count` positions, in the
/// kubelet's order: by number of nodes, then lexicographically by position.
/// Domain: node_count as small as the caller can afford, for there are 2^node_count - 1 subsets.
template <class Visit>
void for_each_mask(int node_count, Visit&& visit) {
  for (int width = 1; width <= node_count; ++width) {
    for_each_mask_of_width(node_count, width, visit);
  }
}

/// Up to so many NUMA nodes, hints are looked for in every subset of the nodes, as the kubelet
/// does.
inline constexpr int kMaxNodesForEveryMask = 16;
/// On larger machines: in every subset of up to so many nodes, ...
inline constexpr int kMaxWidthForEveryMask = 3;

/// Calls visit(NumaMask) for every mask of `width` positions that a provider looks for hints in,
/// in the kubelet's order.
/// DEVIATION: on machines of more than 16 nodes these are every mask of up to 3 nodes and, of the
/// wider ones, each run of neighbouring positions. The kubelet would walk 2^n masks there, and
/// never end. The intersection of two such masks is such a mask again.
template <class Visit>
void for_each_hint_mask_of_width(int node_count, int width, Visit&& visit) {
  if (node_count <= kMaxNodesForEveryMask || width <= kMaxWidthForEveryMask) {
    for_each_mask_of_width(node_count, width, visit);
    return;
  }
  for (int first = 0; first + width <= node_count; ++first) {
    visit(NumaMask(NumaMask::all(width).bits() << first));
  }
}

/// As for_each_hint_mask_of_width, for all widths from 1 on.
template <class Visit>
void for_each_hint_mask(int node_count, Visit&& visit) {
  for (int width = 1; width <= node_count; ++width) {
    for_each_hint_mask_of_width(node_count, width, visit);
  }
}

std::ostream& operator<<(std::ostream& out, NumaMask mask);

}  // namespace pinfold
