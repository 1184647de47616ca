#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "pinfold/types/choices.hpp"

namespace pinfold {

/// A set of NUMA nodes of one machine, by position in Machine::numa_nodes() (0 to 63) instead of OS
/// id: real machines have ids of 255 and more, but far fewer nodes. A machine's nodes are sorted by
/// id, so masks compare like the kubelet's bit masks of ids.
class NumaMask {
 public:
  static constexpr int kMaxNodes = 64;

  constexpr NumaMask() = default;
  constexpr explicit NumaMask(std::uint64_t bits) : bits_(bits) {}
  /// Returns the mask of one position. Domain: 0 to 63.
  [[nodiscard]] static constexpr NumaMask of(int position) {
    return NumaMask(std::uint64_t{1} << position);
  }
  /// Returns the lowest `count` positions. Domain: 0 to 64.
  [[nodiscard]] static constexpr NumaMask all(int count) {
    return NumaMask(count >= kMaxNodes ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
  }

  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  /// Counts bits in parallel, in ever wider fields. Not every x86-64 has a popcount instruction, so
  /// std::popcount would be a function call.
  [[nodiscard]] constexpr int count() const {
    std::uint64_t sums = bits_ - ((bits_ >> 1U) & 0x5555555555555555U);
    sums = (sums & 0x3333333333333333U) + ((sums >> 2U) & 0x3333333333333333U);
    sums = (sums + (sums >> 4U)) & 0x0f0f0f0f0f0f0f0fU;
    return static_cast<int>((sums * 0x0101010101010101U) >> 56U);
  }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  /// Returns whether it is one node; cheaper than count().
  [[nodiscard]] constexpr bool is_single() const {
    return bits_ != 0 && (bits_ & (bits_ - 1)) == 0;
  }
  [[nodiscard]] constexpr bool contains(int position) const {
    return ((bits_ >> position) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool contains_all(NumaMask other) const {
    return (bits_ & other.bits_) == other.bits_;
  }
  /// Returns the lowest position. Domain: not empty.
  [[nodiscard]] constexpr int first() const { return std::countr_zero(bits_); }

  /// Positions in ascending order, for loops such as for (int node : mask.positions()).
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

  /// The kubelet's IsNarrowerThan: fewer nodes, or equally many and the lower mask.
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
  /// Compares by value, not by width.
  friend constexpr auto operator<=>(NumaMask, NumaMask) = default;

  /// Prints the positions as a Linux list, "0-1,3".
  [[nodiscard]] std::string to_string() const;

 private:
  std::uint64_t bits_ = 0;
};

/// Calls visit(NumaMask) for every subset of `width` positions among the lowest `node_count`, in
/// lexicographic order by position. Domain: 1 <= width.
template <class Visit>
void for_each_mask_of_width(int node_count, int width, Visit&& visit) {
  for_each_choice(node_count, width, [&](std::span<const int> positions) {
    std::uint64_t bits = 0;
    for (const int position : positions) bits |= std::uint64_t{1} << position;
    visit(NumaMask(bits));
    return Enumeration::kContinue;
  });
}

/// Calls visit(NumaMask) for every non-empty subset of the lowest `node_count` positions, in the
/// kubelet's order: by number of nodes, then lexicographically by position.
/// Cost: 2^node_count - 1 calls.
template <class Visit>
void for_each_mask(int node_count, Visit&& visit) {
  for (int width = 1; width <= node_count; ++width) {
    for_each_mask_of_width(node_count, width, visit);
  }
}

/// On machines with up to 16 NUMA nodes, providers look for hints in every mask, as the kubelet
/// does. On larger machines they try every mask of up to 3 nodes but, among wider masks, only runs
/// of neighbouring positions.
/// DIFFERENCE: on larger machines the kubelet would walk 2^n masks and never finish.
inline constexpr int kMaxNodesForEveryMask = 16;
inline constexpr int kMaxWidthForEveryMask = 3;
[[nodiscard]] constexpr bool has_every_hint_mask(int node_count, int width) {
  return node_count <= kMaxNodesForEveryMask || width <= kMaxWidthForEveryMask;
}

/// Calls visit(NumaMask) for every mask of `width` positions in which providers look for hints, in
/// the kubelet's order. The intersection of two such masks is again such a mask.
template <class Visit>
void for_each_hint_mask_of_width(int node_count, int width, Visit&& visit) {
  if (has_every_hint_mask(node_count, width)) {
    for_each_mask_of_width(node_count, width, visit);
    return;
  }
  for (int first = 0; first + width <= node_count; ++first) {
    visit(NumaMask(NumaMask::all(width).bits() << first));
  }
}

/// Like for_each_hint_mask_of_width, for all widths in ascending order.
template <class Visit>
void for_each_hint_mask(int node_count, Visit&& visit) {
  for (int width = 1; width <= node_count; ++width) {
    for_each_hint_mask_of_width(node_count, width, visit);
  }
}

/// Returns the lowest mask, by value, that for_each_hint_mask_of_width visits and `suits` accepts,
/// or the empty mask if there is none. Stops at the first match. Domain: 1 <= width <= node_count.
template <class Predicate>
[[nodiscard]] NumaMask lowest_hint_mask(int node_count, int width, const Predicate& suits) {
  const std::uint64_t lowest = NumaMask::all(width).bits();
  if (!has_every_hint_mask(node_count, width)) {
    for (int first = 0; first + width <= node_count; ++first) {
      if (suits(NumaMask(lowest << first))) return NumaMask(lowest << first);
    }
    return {};
  }
  // The next higher number with the same number of bits set; lower than `lowest` after an overflow.
  const auto next_of_same_width = [](std::uint64_t bits) {
    const std::uint64_t lowest_bit = bits & (~bits + 1);
    const std::uint64_t carried = bits + lowest_bit;
    return carried | (((bits ^ carried) >> 2U) / lowest_bit);
  };
  const std::uint64_t all = NumaMask::all(node_count).bits();
  for (std::uint64_t bits = lowest; bits <= all && bits >= lowest;
       bits = next_of_same_width(bits)) {
    if (suits(NumaMask(bits))) return NumaMask(bits);
  }
  return {};
}

std::ostream& operator<<(std::ostream& out, NumaMask mask);

}  // namespace pinfold
