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

}  // namespace pinfold::align
