#pragma once

#include "pinfold/place/take_rules.hpp"

namespace pinfold::place {

/// Takes `count` of the `available` CPUs by the rules. Records the steps unless `steps` is nullptr.
/// Domain: CPUs of the machine; count <= 0 gives the empty set.
[[nodiscard]] Taken take(const TakeRules& rules, CpusView available, int count, Arena& arena,
                         TakeSteps* steps);

}  // namespace pinfold::place
