#pragma once

#include "accumulator.hpp"

namespace pinfold::cpu {

/// Takes `count` of the `available` CPUs by the rules.
/// Domain: CPUs of the machine; count <= 0 gives the empty set.
[[nodiscard]] Taken take(const TakeRules& rules, const CpuSet& available, int count, Steps* steps);

}  // namespace pinfold::cpu
