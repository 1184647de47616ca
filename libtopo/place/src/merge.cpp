#include "pinfold/place/merge.hpp"

#include <algorithm>
#include <optional>

#include "lattice.hpp"
#include "pinfold/place/score.hpp"
#include "single_numa.hpp"

// How it works
//
// Under best-effort and restricted the best merged hint is sought in two steps.
//   1. A mask that every resource prefers beats all others, and of those the narrowest wins. So
//      masks are tried by width, only in widths that all resources can prefer, and the first that
//      suits is the result. Rules are asked mask by mask; nothing is listed.
//   2. If there is none, the result is the best intersection of one hint per resource. Then each
//      resource becomes a table over the lattice of masks; lattice.cpp explains the rest.

namespace pinfold::place {
namespace {

/// Keeps the best of the masks that it considers. Among masks of equal preference, the kubelet
/// compares width, then with prefer-closest-numa-nodes distance, then with a
/// numa-allocation-strategy score, then value. If each mask has one score, or none has any, this is
/// a total order, so the masks may come in any order.
class BestMask {
 public:
  /// Masks of `ideal_width` are best, then come narrower masks, widest first, then wider ones. With
  /// 0, for preferred hints, narrower is always better.
  BestMask(const MergeRules& rules, int ideal_width) : rules_(rules), ideal_width_(ideal_width) {}

  void consider(NumaMask mask, std::uint64_t score = 0) {
    const int its_rank = rank(mask.count());
    if (best_ && its_rank > rank_) return;
    const std::uint64_t its_distance = distance(mask);
    if (best_ && its_rank == rank_) {
      if (its_distance > distance_) return;
      const bool is_equal = its_distance == distance_;
      if (is_equal && !replaces(rules_.strategy, *best_, score_, mask, score)) return;
    }
    best_ = mask;
    rank_ = its_rank;
    distance_ = its_distance;
    score_ = score;
  }
  /// Returns whether only score and value set this mask apart from the best one. Domain: there is
  /// a best one.
  [[nodiscard]] bool is_equally_fit(NumaMask mask) const {
    return rank(mask.count()) == rank_ && distance(mask) == distance_;
  }
  [[nodiscard]] const std::optional<NumaMask>& best() const { return best_; }

 private:
  [[nodiscard]] int rank(int width) const {
    return width > ideal_width_ ? width : ideal_width_ - width - NumaMask::kMaxNodes;
  }

  [[nodiscard]] std::uint64_t distance(NumaMask mask) const {
    return distance_within(mask, rules_.distances, rules_.nodes);
  }

  const MergeRules& rules_;
  int ideal_width_;
  std::optional<NumaMask> best_;
  int rank_ = 0;
  std::uint64_t distance_ = 0;
  std::uint64_t score_ = 0;
};

/// The hints of one resource: a rule, or a table over the lattice.
struct Resource {
  const Hints* hints = nullptr;
  const HintRule* rule = nullptr;
  std::span<Fit> table = {};
  bool names = false;                  ///< some hint has a mask
  bool any = false;                    ///< some hint has no mask and accepts any node
  bool any_preferred = false;          ///< and such a hint is preferred
  std::uint64_t preferred_widths = 0;  ///< bit w: a mask of w + 1 nodes is preferred

  [[nodiscard]] bool may_prefer(int width) const {
    if (rule != nullptr) {
      return rule->narrowest() <= width && width <= rule->widest() && rule->may_prefer(width);
    }
    return ((preferred_widths >> (width - 1)) & 1U) != 0;
  }
  /// Domain: may_prefer(mask.count()).
  [[nodiscard]] bool prefers(NumaMask mask, const MaskLattice& lattice) const {
    return (rule != nullptr ? rule->fit(mask) : table[lattice.index(mask)]) == Fit::kPreferred;
  }
};

Resource tabulate(std::span<const TopologyHint> list, const MaskLattice& lattice, Arena& arena) {
  Resource resource;
  resource.table = arena.make<Fit>(lattice.size());
  for (const TopologyHint& hint : list) {
    if (!hint.numa) {
      resource.any = true;
      resource.any_preferred = resource.any_preferred || hint.preferred;
      continue;
    }
    resource.names = true;
    const std::size_t index = lattice.index(*hint.numa);
    if (index == MaskLattice::kOutside || hint.numa->empty()) continue;
    Fit& fit = resource.table[index];
    fit = std::max(fit, hint.preferred ? Fit::kPreferred : Fit::kYes);
    if (hint.preferred) {
      resource.preferred_widths |= std::uint64_t{1} << (hint.numa->count() - 1);
    }
  }
  return resource;
}

std::span<Resource> resources_of(std::span<const Hints> all, const MaskLattice& lattice,
                                 Arena& arena) {
  const auto resources = arena.make<Resource>(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    switch (all[i].kind) {
      case Hints::Kind::kAnywhere:
        resources[i].any = resources[i].any_preferred = true;
        break;
      case Hints::Kind::kNowhere:
        resources[i].any = true;
        break;
      case Hints::Kind::kRule:
        resources[i].rule = all[i].rule;
        resources[i].names = true;
        break;
      case Hints::Kind::kList:
        resources[i] = tabulate(all[i].list, lattice, arena);
        break;
    }
    resources[i].hints = &all[i];
  }
  return resources;
}

/// Returns the best mask that every resource prefers; a preferred hint without a mask accepts every
/// mask. nullopt if there is none.
std::optional<NumaMask> merge_preferred(std::span<const Resource> resources,
                                        const MaskLattice& lattice, const MergeRules& rules,
                                        bool is_scored) {
  for (int width = 1; width <= rules.nodes; ++width) {
    bool is_named = false;
    bool is_possible = true;
    for (const Resource& resource : resources) {
      const bool may_prefer = resource.may_prefer(width);
      is_named = is_named || may_prefer;
      is_possible = is_possible && (may_prefer || resource.any_preferred);
    }
    if (!is_named || !is_possible) continue;
    const auto suits = [&](NumaMask mask) {
      bool named = false;
      for (const Resource& resource : resources) {
        const bool prefers = resource.may_prefer(width) && resource.prefers(mask, lattice);
        if (!prefers && !resource.any_preferred) return false;
        named = named || prefers;
      }
      return named;
    };
    if (rules.distances.empty() && !is_scored) {
      const NumaMask lowest = lowest_hint_mask(rules.nodes, width, suits);
      if (!lowest.empty()) return lowest;
      continue;
    }
    BestMask best(rules, 0);
    for_each_hint_mask_of_width(rules.nodes, width, [&](NumaMask mask) {
      if (!suits(mask)) return;
      HintScore score;
      for (const Resource& resource : resources) {
        if (is_scored && resource.may_prefer(width) && resource.prefers(mask, lattice)) {
          score.add(*resource.hints, mask);
        }
      }
      best.consider(mask, score.value());
    });
    if (best.best()) return best.best();
  }
  const bool all_accept_any = std::all_of(resources.begin(), resources.end(),
                                          [](const Resource& r) { return r.any_preferred; });
  return all_accept_any ? std::optional(rules.all()) : std::nullopt;
}

/// Turns a rule into a table.
void tabulate_rule(Resource& resource, const MaskLattice& lattice, Arena& arena) {
  if (resource.rule == nullptr) return;
  const HintRule& rule = *resource.rule;
  resource.table = arena.make<Fit>(lattice.size());
  lattice.for_each([&](NumaMask mask, std::size_t index) {
    const int width = mask.count();
    if (width >= rule.narrowest() && width <= rule.widest()) {
      resource.table[index] = rule.fit(mask);
    }
  });
}

/// Takes the width of each resource's narrowest hint and returns the largest of them.
int widest_minimum(std::span<const Resource> resources, const MaskLattice& lattice) {
  int widest = 0;
  for (const Resource& resource : resources) {
    if (!resource.names) continue;
    int narrowest = NumaMask::kMaxNodes + 1;
    lattice.for_each([&](NumaMask mask, std::size_t index) {
      if (resource.table[index] != Fit::kNo) narrowest = std::min(narrowest, mask.count());
    });
    if (narrowest <= NumaMask::kMaxNodes) widest = std::max(widest, narrowest);
  }
  return widest;
}

/// Chooses between equally fit masks by the scores of the combinations that lead to them. Several
/// combinations, with several scores, lead to one mask, and the kubelet never replaces a mask by
/// itself: what it chooses depends on their order, so they are tried in its order.
class ScoredCombinations {
 public:
  /// `masks` are the equally fit ones.
  ScoredCombinations(std::span<const Resource> resources, const MaskLattice& lattice,
                     const MergeRules& rules, std::span<const std::uint64_t> masks)
      : resources_(resources), lattice_(lattice), rules_(rules), masks_(masks) {}

  /// Returns the chosen mask, or the lowest if there are more combinations than it can try.
  [[nodiscard]] NumaMask run() {
    visit(0, rules_.all(), {});
    const NumaMask lowest(*std::min_element(masks_.begin(), masks_.end()));
    return steps_ < kMostSteps ? best_.value_or(lowest) : lowest;
  }

 private:
  /// All combinations of three resources with a hint for each mask of eight NUMA nodes. A kubelet
  /// takes seconds for so many.
  static constexpr std::size_t kMostSteps = std::size_t{1} << 24U;

  void visit(std::size_t depth, NumaMask mask, const HintScore& score) {
    if (depth == resources_.size()) return compare(mask, score.value());
    const Resource& resource = resources_[depth];
    const auto take = [&](const std::optional<NumaMask>& hint) {
      const NumaMask merged = hint ? mask & *hint : mask;
      if (!leads_to_a_mask(merged)) return;
      HintScore sum = score;
      if (hint) sum.add(*resource.hints, *hint);
      visit(depth + 1, merged, sum);
    };
    if (resource.hints->kind == Hints::Kind::kList) {
      for (const TopologyHint& hint : resource.hints->list) {
        if (steps_ < kMostSteps) take(hint.numa);
      }
    } else if (resource.rule == nullptr) {
      take(std::nullopt);
    } else {
      for_each_hint_mask(rules_.nodes, [&](NumaMask hint) {
        if (steps_ < kMostSteps && resource.table[lattice_.index(hint)] != Fit::kNo) take(hint);
      });
    }
  }

  [[nodiscard]] bool leads_to_a_mask(NumaMask mask) {
    steps_ += 1 + masks_.size() / 64;
    if (steps_ >= kMostSteps) return false;
    return std::any_of(masks_.begin(), masks_.end(),
                       [&](std::uint64_t bits) { return (bits & mask.bits()) == bits; });
  }

  void compare(NumaMask mask, std::uint64_t score) {
    const bool is_one = std::find(masks_.begin(), masks_.end(), mask.bits()) != masks_.end();
    if (!is_one) return;
    if (best_ && !replaces(rules_.strategy, *best_, score_, mask, score)) return;
    best_ = mask;
    score_ = score;
  }

  std::span<const Resource> resources_;
  const MaskLattice& lattice_;
  const MergeRules& rules_;
  std::span<const std::uint64_t> masks_;
  std::size_t steps_ = 0;
  std::optional<NumaMask> best_;
  std::uint64_t score_ = 0;
};

/// Returns the best intersection of one hint per resource, preferred or not; nullopt if all are
/// empty.
std::optional<NumaMask> merge_not_preferred(std::span<Resource> resources,
                                            const MaskLattice& lattice, const MergeRules& rules,
                                            bool is_scored, Arena& arena) {
  for (Resource& resource : resources) tabulate_rule(resource, lattice, arena);
  // For each mask, the number of choices of one hint per resource that intersect in exactly it.
  const auto choices = arena.make<std::uint64_t>(lattice.size());
  std::fill(choices.begin(), choices.end(), 1);
  const auto sums = arena.make<std::uint64_t>(lattice.size());
  int factors = 0;
  for (const Resource& resource : resources) {
    if (!resource.names) continue;
    if (factors == MaskLattice::kExactFactors) {
      // Only whether a choice exists matters, and 0 or 1 keeps the numbers exact.
      lattice.undo_sums_above(choices, arena);
      for (std::uint64_t& number : choices) number = number != 0 ? 1 : 0;
      lattice.sums_above(choices, arena);
      factors = 1;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = resource.table[i] != Fit::kNo ? 1 : 0;
    if (resource.any) sums[lattice.index(rules.all())] = 1;
    lattice.sums_above(sums, arena);
    for (std::size_t i = 0; i < choices.size(); ++i) choices[i] *= sums[i];
    ++factors;
  }
  if (factors == 0) return rules.all();
  lattice.undo_sums_above(choices, arena);
  BestMask best(rules, widest_minimum(resources, lattice));
  lattice.for_each([&](NumaMask mask, std::size_t index) {
    if (choices[index] != 0) best.consider(mask);
  });
  // A rejected pod has no use for it.
  if (!is_scored || !best.best() || rules.policy == TopologyPolicy::kRestricted) return best.best();
  std::size_t count = 0;
  lattice.for_each([&](NumaMask mask, std::size_t index) {
    if (choices[index] != 0 && best.is_equally_fit(mask)) sums[count++] = mask.bits();
  });
  ScoredCombinations combinations(resources, lattice, rules, std::span(sums).first(count));
  return count > 1 ? combinations.run() : best.best();
}

}  // namespace

TopologyHint merge(std::span<const Hints> resources, const MergeRules& rules, Arena& arena) {
  const Arena::Scope scope(arena);
  if (rules.policy == TopologyPolicy::kNone) return {};
  if (rules.policy == TopologyPolicy::kSingleNumaNode) {
    const auto mask = merge_single_numa(resources, rules, arena);
    return {mask == rules.all() ? std::nullopt : mask, mask.has_value()};
  }
  const MaskLattice lattice(rules.nodes);
  const std::span<Resource> all = resources_of(resources, lattice, arena);
  const bool is_scored = are_scored(rules.strategy, resources);
  if (const auto mask = merge_preferred(all, lattice, rules, is_scored)) return {mask, true};
  return {merge_not_preferred(all, lattice, rules, is_scored, arena).value_or(rules.all()), false};
}

bool admits(TopologyPolicy policy, const TopologyHint& affinity) {
  switch (policy) {
    case TopologyPolicy::kNone:        // none: always; nothing is aligned
    case TopologyPolicy::kBestEffort:  // best-effort: always, aligned or not
      return true;
    case TopologyPolicy::kRestricted:      // restricted: only if aligned, on any set of nodes
    case TopologyPolicy::kSingleNumaNode:  // single-numa-node: only if aligned on one node
      break;
  }
  return affinity.preferred;
}

std::size_t merge_bytes(int nodes, std::size_t resources, std::size_t listed) {
  const std::size_t size = MaskLattice(nodes).size();
  const auto n = static_cast<std::size_t>(nodes);
  const std::size_t of_numbers = sizeof(std::uint64_t) * (2 * size + 2 * n * n);
  const std::size_t of_resource =
      sizeof(Resource) + size + sizeof(std::span<int>) + sizeof(int) * n;
  const std::size_t padding = (resources + 1) * 8 * alignof(std::max_align_t);
  return of_numbers + resources * of_resource + sizeof(int) * listed + padding;
}

}  // namespace pinfold::place
