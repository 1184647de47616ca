#include "filter_hints.hpp"

namespace pinfold::align {

std::vector<HintsOfResource> filter_hints(std::span<const ResourceHints> providers) {
  std::vector<HintsOfResource> filtered;
  for (const ResourceHints& provider : providers) {
    if (provider.empty()) filtered.push_back({"", {}});
    for (const auto& [resource, hints] : provider) {
      filtered.push_back({resource, hints ? place::Hints::of(*hints) : place::Hints{}});
    }
  }
  return filtered;
}

std::vector<HintsOfResource> filter_hints(std::span<const ResourceHints> providers,
                                          const UsageByResource& usage,
                                          const ScoreWeights& weights) {
  std::vector<HintsOfResource> filtered = filter_hints(providers);
  for (auto& [resource, hints] : filtered) {
    if (const auto used = usage.find(resource); used != usage.end()) hints.usage = used->second;
    const auto weight = weights.find(resource);
    if (weight != weights.end()) hints.weight = weight->second;
  }
  return filtered;
}

}  // namespace pinfold::align
