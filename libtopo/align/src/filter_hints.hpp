#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/place/hints.hpp"
#include "pinfold/types/hint.hpp"

namespace pinfold::align {

/// numa-score-weights.
using ScoreWeights = std::map<std::string, int, std::less<>>;

/// The hints of one resource after the kubelet's filter. Borrows from the providers' maps.
struct HintsOfResource {
  std::string_view resource;  ///< empty for a provider without any entry
  place::Hints hints;
};

/// Filters like the kubelet's filterProvidersHints: no list is no preference, an empty list is
/// impossible.
[[nodiscard]] std::vector<HintsOfResource> filter_hints(std::span<const ResourceHints> providers);
/// Does the same, and keeps the data for their scores. Borrows from `usage`, too.
[[nodiscard]] std::vector<HintsOfResource> filter_hints(std::span<const ResourceHints> providers,
                                                        const UsageByResource& usage,
                                                        const ScoreWeights& weights);

}  // namespace pinfold::align
