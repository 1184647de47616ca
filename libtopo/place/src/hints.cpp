#include "pinfold/place/hints.hpp"

#include <algorithm>
#include <cstddef>

namespace pinfold::place {

bool fits_anywhere(const HintRule& rule, int nodes) {
  for (int width = rule.narrowest(); width <= std::min(rule.widest(), nodes); ++width) {
    const NumaMask found =
        lowest_hint_mask(nodes, width, [&](NumaMask mask) { return rule.fit(mask) != Fit::kNo; });
    if (!found.empty()) return true;
  }
  return false;
}

std::vector<TopologyHint> list_hints(const HintRule& rule, int nodes, int widest) {
  std::vector<TopologyHint> hints;
  const int last = std::min({rule.widest(), nodes, widest});
  if (nodes <= kMaxNodesForEveryMask) hints.reserve(std::size_t{1} << nodes);
  for (int width = rule.narrowest(); width <= last; ++width) {
    for_each_hint_mask_of_width(nodes, width, [&](NumaMask mask) {
      const Fit fit = rule.fit(mask);
      if (fit != Fit::kNo) hints.push_back({mask, fit == Fit::kPreferred});
    });
  }
  return hints;
}

}  // namespace pinfold::place
