#include "lattice.hpp"

#include <bit>

// How it works
//
// A merge needs to know which masks are the intersection of some choice of one hint per resource.
// Trying all choices takes exponential time in the number of resources. Instead:
//   1. sums_above() replaces each list of hints (0 or 1 per mask) by sums: at m, the number of its
//      hints that contain m.
//   2. An intersection contains m exactly if every chosen hint does. So the product of these sums
//      at m is the number of choices whose intersection contains m.
//   3. undo_sums_above() turns "contains m" into "is exactly m".
//
// Up to 16 nodes every subset is a mask and has its bits as index. Both transforms are the usual
// loops over one bit at a time: n * 2^(n-1) additions.
//
// Larger machines use single nodes, pairs, triples and runs of more than three neighbouring nodes.
// A run contains m exactly if it contains the range from the lowest to the highest node of m, so
// the sum over runs depends on (first, last) only and is a prefix sum over that plane: O(n^2).
// Triples and pairs update the at most six masks below them directly: O(n^3).
//
// Invariants: a sum includes the mask itself. sums_above() goes from narrow to wide masks and
// undo_sums_above() from wide to narrow, so that a mask holds its own value, not a sum, whenever
// it is added to or subtracted from the masks below it. Ranges that are not runs stay unused.

namespace pinfold::place {
namespace {

constexpr std::size_t node(int position) { return static_cast<std::size_t>(position); }
constexpr std::size_t pairs_below(std::size_t high) { return high * (high - 1) / 2; }
constexpr std::size_t triples_below(std::size_t high) { return high * (high - 1) * (high - 2) / 6; }

}  // namespace

// If every subset is a mask, its number is its bits. Otherwise single nodes come first, then pairs
// and triples by their highest nodes, then a square; the runs use one half of it.
MaskLattice::MaskLattice(int node_count) : nodes_(node_count) {
  const std::size_t n = node(node_count);
  if (every_subset()) {
    size_ = std::size_t{1} << n;
    return;
  }
  first_triple_ = n + pairs_below(n);
  first_run_ = first_triple_ + triples_below(n);
  size_ = first_run_ + n * n;
}

std::size_t MaskLattice::pair_index(int low, int high) const {
  return node(nodes_) + node(low) + pairs_below(node(high));
}

std::size_t MaskLattice::triple_index(int low, int middle, int high) const {
  return first_triple_ + triples_below(node(high)) + pairs_below(node(middle)) + node(low);
}

std::size_t MaskLattice::run_index(int first, int last) const {
  return first_run_ + node(first) * node(nodes_) + node(last);
}

std::size_t MaskLattice::index_in_family(NumaMask mask) const {
  if (mask.empty()) return kOutside;
  const int first = mask.first();
  const int last = NumaMask::kMaxNodes - 1 - std::countl_zero(mask.bits());
  if (last >= nodes_) return kOutside;
  if (first == last) return node(first);
  const NumaMask inner = mask - NumaMask::of(first) - NumaMask::of(last);
  if (inner.empty()) return pair_index(first, last);
  if ((inner.bits() & (inner.bits() - 1)) == 0) return triple_index(first, inner.first(), last);
  const NumaMask run(NumaMask::all(last - first + 1).bits() << first);
  return mask == run ? run_index(first, last) : kOutside;
}

template <class Visit>
void MaskLattice::for_each_run(Visit&& visit) const {
  for (int first = 0; first < nodes_; ++first) {
    for (int last = first + kMaxWidthForEveryMask; last < nodes_; ++last) visit(first, last);
  }
}

template <class Visit>
void MaskLattice::for_each_triple(Visit&& visit) const {
  std::size_t index = first_triple_;
  for (int high = 2; high < nodes_; ++high) {
    for (int middle = 1; middle < high; ++middle) {
      for (int low = 0; low < middle; ++low) visit(index++, low, middle, high);
    }
  }
}

template <class Visit>
void MaskLattice::for_each_pair(Visit&& visit) const {
  std::size_t index = node(nodes_);
  for (int high = 1; high < nodes_; ++high) {
    for (int low = 0; low < high; ++low) visit(index++, low, high);
  }
}

std::span<std::uint64_t> MaskLattice::run_sums(std::span<const std::uint64_t> table,
                                               Arena& arena) const {
  const std::size_t n = node(nodes_);
  const std::span<std::uint64_t> sums = arena.make<std::uint64_t>(n * n);
  for (std::size_t first = 0; first < n; ++first) {
    for (std::size_t last = n; last-- > first;) {
      const bool wide = last - first >= kMaxWidthForEveryMask;
      std::uint64_t sum = wide ? table[first_run_ + first * n + last] : 0;
      if (first > 0) sum += sums[(first - 1) * n + last];
      if (last + 1 < n) sum += sums[first * n + last + 1];
      if (first > 0 && last + 1 < n) sum -= sums[(first - 1) * n + last + 1];
      sums[first * n + last] = sum;
    }
  }
  return sums;
}

void MaskLattice::sums_above(std::span<std::uint64_t> table, Arena& arena) const {
  if (every_subset()) {
    for (std::size_t bit = 1; bit < size_; bit *= 2) {
      for (std::size_t block = 0; block < size_; block += 2 * bit) {
        for (std::size_t i = block; i < block + bit; ++i) table[i] += table[i + bit];
      }
    }
    return;
  }
  const Arena::Scope scope(arena);
  const std::span<const std::uint64_t> runs = run_sums(table, arena);
  const auto run = [&](int first, int last) { return runs[run_index(first, last) - first_run_]; };
  // Narrow masks first, while wider ones still hold their values before the summation.
  for (int i = 0; i < nodes_; ++i) table[node(i)] += run(i, i);
  for_each_pair([&](std::size_t index, int low, int high) {
    table[node(low)] += table[index];
    table[node(high)] += table[index];
    table[index] += run(low, high);
  });
  for_each_triple([&](std::size_t index, int low, int middle, int high) {
    const std::uint64_t value = table[index];
    for (const int i : {low, middle, high}) table[node(i)] += value;
    table[pair_index(low, middle)] += value;
    table[pair_index(low, high)] += value;
    table[pair_index(middle, high)] += value;
    table[index] += run(low, high);
  });
  for_each_run([&](int first, int last) { table[run_index(first, last)] = run(first, last); });
}

void MaskLattice::undo_sums_above(std::span<std::uint64_t> table, Arena& arena) const {
  if (every_subset()) {
    for (std::size_t bit = 1; bit < size_; bit *= 2) {
      for (std::size_t block = 0; block < size_; block += 2 * bit) {
        for (std::size_t i = block; i < block + bit; ++i) table[i] -= table[i + bit];
      }
    }
    return;
  }
  // Widest first: each mask subtracts its own value from all masks below it. A run's sum covers a
  // quadrant of the plane of (first, last), so its own value is a second difference.
  const Arena::Scope scope(arena);
  std::span<std::uint64_t> runs = arena.make<std::uint64_t>(node(nodes_) * node(nodes_));
  const auto sum_at = [&](int first, int last) {
    return first < 0 || last >= nodes_ ? 0 : table[run_index(first, last)];
  };
  for_each_run([&](int first, int last) {
    runs[run_index(first, last) - first_run_] = sum_at(first, last) - sum_at(first - 1, last) -
                                                sum_at(first, last + 1) +
                                                sum_at(first - 1, last + 1);
  });
  for_each_run([&](int first, int last) {
    table[run_index(first, last)] = runs[run_index(first, last) - first_run_];
  });
  runs = run_sums(table, arena);
  const auto run = [&](int first, int last) { return runs[run_index(first, last) - first_run_]; };
  for_each_triple([&](std::size_t index, int low, int middle, int high) {
    const std::uint64_t value = table[index] -= run(low, high);
    for (const int i : {low, middle, high}) table[node(i)] -= value;
    table[pair_index(low, middle)] -= value;
    table[pair_index(low, high)] -= value;
    table[pair_index(middle, high)] -= value;
  });
  for_each_pair([&](std::size_t index, int low, int high) {
    const std::uint64_t value = table[index] -= run(low, high);
    table[node(low)] -= value;
    table[node(high)] -= value;
  });
  for (int i = 0; i < nodes_; ++i) table[node(i)] -= run(i, i);
}

}  // namespace pinfold::place
