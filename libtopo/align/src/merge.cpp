#include "merge.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace pinfold::align {
namespace {

constexpr TopologyHint kAnywhere{std::nullopt, true};
constexpr TopologyHint kImpossible{std::nullopt, false};

/// The widths of the narrowest hints of each resource: the largest of them.
int widest_need(std::span<const Offer> offers) {
  int need = 0;
  for (const Offer& offer : offers) {
    int narrowest = NumaMask::kMaxNodes + 1;
    for (const TopologyHint& hint : offer.hints) {
      if (hint.numa) narrowest = std::min(narrowest, hint.numa->count());
    }
    if (narrowest <= NumaMask::kMaxNodes) need = std::max(need, narrowest);
  }
  return need;
}

/// The order of hints in a list: by number of nodes, then lexicographically.
bool hint_order(NumaMask a, NumaMask b) {
  if (a.count() != b.count()) return a.count() < b.count();
  const std::uint64_t different = a.bits() ^ b.bits();
  return (different & (~different + 1) & a.bits()) != 0;
}

/// The masks of the preferred hints, in hint_order.
std::vector<NumaMask> preferred_masks(const Offer& offer, bool& takes_any) {
  std::vector<NumaMask> masks;
  for (const TopologyHint& hint : offer.hints) {
    if (!hint.preferred) continue;
    if (hint.numa) {
      masks.push_back(*hint.numa);
    } else {
      takes_any = true;
    }
  }
  if (!std::is_sorted(masks.begin(), masks.end(), hint_order)) {
    std::sort(masks.begin(), masks.end(), hint_order);
  }
  return masks;
}

}  // namespace

std::vector<Offer> collect_offers(std::span<const ResourceHints> providers) {
  std::vector<Offer> offers;
  for (const ResourceHints& provider : providers) {
    if (provider.empty()) offers.push_back({"", {&kAnywhere, 1}});
    for (const auto& [resource, hints] : provider) {
      if (!hints) {
        offers.push_back({resource, {&kAnywhere, 1}});
      } else if (hints->empty()) {
        offers.push_back({resource, {&kImpossible, 1}});
      } else {
        offers.push_back({resource, *hints});
      }
    }
  }
  return offers;
}

void BestMask::show(NumaMask mask) {
  const int its_rank = rank(mask.count());
  if (best_ && its_rank > best_rank_) return;
  const std::uint64_t its_distance = distance(mask);
  if (best_ && its_rank == best_rank_ &&
      (its_distance > best_distance_ || (its_distance == best_distance_ && *best_ <= mask))) {
    return;
  }
  best_ = mask;
  best_rank_ = its_rank;
  best_distance_ = its_distance;
}

// The kubelet compares averages; of masks of one width the sums compare alike.
std::uint64_t BestMask::distance(NumaMask mask) const {
  if (rules_.distances == nullptr) return 0;
  std::uint64_t sum = 0;
  for (const int from : mask.positions()) {
    for (const int to : mask.positions()) {
      sum += (*rules_.distances)[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    }
  }
  return sum;
}

std::optional<NumaMask> merge_preferred(std::span<const Offer> offers, const MergeRules& rules) {
  std::vector<NumaMask> named;   // what any resource names
  std::vector<NumaMask> common;  // what all name that do not take just any
  bool all_take_any = true;
  for (const Offer& offer : offers) {
    bool takes_any = false;
    std::vector<NumaMask> masks = preferred_masks(offer, takes_any);
    if (takes_any) {
      named.insert(named.end(), masks.begin(), masks.end());
    } else if (all_take_any) {
      all_take_any = false;
      common = std::move(masks);
    } else {
      std::vector<NumaMask> both;
      std::set_intersection(common.begin(), common.end(), masks.begin(), masks.end(),
                            std::back_inserter(both), hint_order);
      common = std::move(both);
    }
  }
  if (all_take_any) {
    common = std::move(named);
    common.push_back(rules.all);
  }
  BestMask best(rules, 0);
  for (const NumaMask mask : common) {
    if (!mask.empty()) best.show(mask);
  }
  return best.best();
}

std::optional<NumaMask> merge_not_preferred(std::span<const Offer> offers,
                                            const MergeRules& rules) {
  std::set<NumaMask> reached = {rules.all};
  for (const Offer& offer : offers) {
    std::set<NumaMask> next;
    for (const TopologyHint& hint : offer.hints) {
      for (const NumaMask mask : reached) {
        const NumaMask both = hint.numa ? mask & *hint.numa : mask;
        if (!both.empty()) next.insert(both);
      }
    }
    reached = std::move(next);
  }
  BestMask best(rules, widest_need(offers));
  for (const NumaMask mask : reached) best.show(mask);
  return best.best();
}

}  // namespace pinfold::align
