#pragma once

#include <functional>
#include <vector>

namespace pinfold::harness {

/// A choice of one value for each factor, by index.
using FactorRow = std::vector<int>;

/// Value of a factor for which none is chosen yet.
inline constexpr int kNoChoice = -1;

/// Returns rows in which every two values of different factors meet at least once, unless no
/// allowed row has both: a covering array of strength 2, by a greedy search. Each row has a pair
/// that no earlier row has. The same arguments give the same rows. `sizes`: how many values each
/// factor has. `allowed`: whether a row can be used; a row with open choices is rejected only if
/// every completion of it is.
[[nodiscard]] std::vector<FactorRow> covering_array(
    const std::vector<int>& sizes, const std::function<bool(const FactorRow&)>& allowed);

}  // namespace pinfold::harness
