#include "merge.hpp"

#include <algorithm>
#include <optional>

#include "lattice.hpp"

namespace pinfold::align {
namespace {

constexpr TopologyHint kAnywhere{std::nullopt, true};
constexpr TopologyHint kImpossible{std::nullopt, false};

/// Keeps the best of the masks that it considers. Among masks of equal preference, the kubelet
/// compares width, then with prefer-closest-numa-nodes distance, then value. This is a total order,
/// so the masks may come in any order.
class BestMask {
 public:
  /// Masks of `ideal_width` are best, then come narrower masks, widest first, then wider ones. With
  /// 0, for preferred hints, narrower is always better.
  BestMask(const MergeRules& rules, int ideal_width) : rules_(rules), ideal_width_(ideal_width) {}

  void consider(NumaMask mask) {
    const int its_rank = rank(mask.count());
    if (best_ && its_rank > rank_) return;
    const std::uint64_t its_distance = distance(mask);
    if (best_ && its_rank == rank_ &&
        (its_distance > distance_ || (its_distance == distance_ && *best_ <= mask))) {
      return;
    }
    best_ = mask;
    rank_ = its_rank;
    distance_ = its_distance;
  }
  [[nodiscard]] const std::optional<NumaMask>& best() const { return best_; }

 private:
  [[nodiscard]] int rank(int width) const {
    return width > ideal_width_ ? width : ideal_width_ - width - NumaMask::kMaxNodes;
  }

  // The kubelet compares averages; for masks of equal width, sums have the same order.
  [[nodiscard]] std::uint64_t distance(NumaMask mask) const {
    if (rules_.distances == nullptr) return 0;
    std::uint64_t sum = 0;
    for (const int from : mask.positions()) {
      for (const int to : mask.positions()) {
        sum += (*rules_.distances)[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      }
    }
    return sum;
  }

  const MergeRules& rules_;
  int ideal_width_;
  std::optional<NumaMask> best_;
  int rank_ = 0;
  std::uint64_t distance_ = 0;
};

/// The hints of one resource as a table over the lattice.
struct Table {
  static constexpr std::uint8_t kNamed = 1;
  static constexpr std::uint8_t kPreferred = 2;

  std::vector<std::uint8_t> flags;
  bool names = false;          ///< some hint has a mask
  bool any = false;            ///< some hint has no mask and accepts any node
  bool any_preferred = false;  ///< and such a hint is preferred
};

Table tabulate(const HintsOfResource& resource, const MaskLattice& lattice) {
  Table table;
  table.flags.resize(lattice.size());
  for (const TopologyHint& hint : resource.hints) {
    if (!hint.numa) {
      table.any = true;
      table.any_preferred = table.any_preferred || hint.preferred;
      continue;
    }
    table.names = true;
    const std::size_t index = lattice.index(*hint.numa);
    if (index == MaskLattice::kOutside) continue;
    table.flags[index] |= hint.preferred ? Table::kNamed | Table::kPreferred : Table::kNamed;
  }
  return table;
}

/// Returns the best mask that every resource prefers; a preferred hint without a mask accepts every
/// mask. nullopt if there is none.
std::optional<NumaMask> merge_preferred(std::span<const Table> tables, const MaskLattice& lattice,
                                        const MergeRules& rules) {
  std::vector<std::uint8_t> named(lattice.size());
  std::vector<std::uint8_t> common(lattice.size(), Table::kPreferred);
  bool all_accept_any = true;
  for (const Table& table : tables) {
    if (!table.any_preferred) all_accept_any = false;
    for (std::size_t i = 0; i < named.size(); ++i) named[i] |= table.flags[i];
    if (table.any_preferred) continue;
    for (std::size_t i = 0; i < common.size(); ++i) common[i] &= table.flags[i];
  }
  BestMask best(rules, 0);
  if (all_accept_any) best.consider(rules.all);
  lattice.for_each([&](NumaMask mask, std::size_t index) {
    if ((named[index] & common[index]) != 0) best.consider(mask);
  });
  return best.best();
}

/// Takes the width of each resource's narrowest hint and returns the largest of them.
int widest_minimum(std::span<const Table> tables, const MaskLattice& lattice) {
  std::vector<int> narrowest(tables.size(), NumaMask::kMaxNodes + 1);
  lattice.for_each([&](NumaMask mask, std::size_t index) {
    const int width = mask.count();
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (tables[i].flags[index] != 0) narrowest[i] = std::min(narrowest[i], width);
    }
  });
  int widest = 0;
  for (const int width : narrowest) {
    if (width <= NumaMask::kMaxNodes) widest = std::max(widest, width);
  }
  return widest;
}

/// Returns the best intersection of one hint per resource, preferred or not; nullopt if all are
/// empty.
std::optional<NumaMask> merge_not_preferred(std::span<const Table> tables,
                                            const MaskLattice& lattice, const MergeRules& rules) {
  // For each mask, the number of choices of one hint per resource that intersect in exactly it.
  std::vector<std::uint64_t> choices(lattice.size(), 1);
  std::vector<std::uint64_t> sums(lattice.size());
  int factors = 0;
  for (const Table& table : tables) {
    if (!table.names) continue;
    if (factors == MaskLattice::kExactFactors) {
      // Only whether a choice exists matters, and 0 or 1 keeps the numbers exact.
      lattice.undo_sums_above(choices);
      for (std::uint64_t& number : choices) number = number != 0 ? 1 : 0;
      lattice.sums_above(choices);
      factors = 1;
    }
    std::copy(table.flags.begin(), table.flags.end(), sums.begin());
    for (std::uint64_t& number : sums) number = number != 0 ? 1 : 0;
    if (table.any) sums[lattice.index(rules.all)] = 1;
    lattice.sums_above(sums);
    for (std::size_t i = 0; i < choices.size(); ++i) choices[i] *= sums[i];
    ++factors;
  }
  if (factors == 0) return rules.all;
  lattice.undo_sums_above(choices);
  BestMask best(rules, widest_minimum(tables, lattice));
  lattice.for_each([&](NumaMask mask, std::size_t index) {
    if (choices[index] != 0) best.consider(mask);
  });
  return best.best();
}

}  // namespace

std::vector<HintsOfResource> filter_hints(std::span<const ResourceHints> providers) {
  std::vector<HintsOfResource> filtered;
  for (const ResourceHints& provider : providers) {
    if (provider.empty()) filtered.push_back({"", {&kAnywhere, 1}});
    for (const auto& [resource, hints] : provider) {
      if (!hints) {
        filtered.push_back({resource, {&kAnywhere, 1}});
      } else if (hints->empty()) {
        filtered.push_back({resource, {&kImpossible, 1}});
      } else {
        filtered.push_back({resource, *hints});
      }
    }
  }
  return filtered;
}

TopologyHint merge_hints(std::span<const HintsOfResource> resources, const MergeRules& rules) {
  const MaskLattice lattice(rules.all.count());
  std::vector<Table> tables;
  tables.reserve(resources.size());
  for (const HintsOfResource& resource : resources) tables.push_back(tabulate(resource, lattice));
  if (const auto mask = merge_preferred(tables, lattice, rules)) return {mask, true};
  return {merge_not_preferred(tables, lattice, rules).value_or(rules.all), false};
}

}  // namespace pinfold::align
