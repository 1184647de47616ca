#pragma once

#include <cstdint>

#include "table.hpp"

namespace pinfold::test {

/// A row of actions without results. The same seed always gives the same row.
[[nodiscard]] TableRow random_row(std::uint64_t seed);

}  // namespace pinfold::test
