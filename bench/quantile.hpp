#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pinfold {

/// Returns the value below which this share of the values lies. Domain: `values` is not empty.
inline double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace pinfold
