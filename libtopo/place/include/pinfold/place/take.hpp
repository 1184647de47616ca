#pragma once

#include "pinfold/place/take_rules.hpp"

namespace pinfold::place {

/// Takes `count` of the `available` CPUs by the rules. Records the steps unless `steps` is nullptr.
/// `kept`: some of the available CPUs that are part of the result, near which the others are taken;
/// no words: none. Domain: CPUs of the machine; count <= 0 gives the empty set; with `kept`, count
/// is at least their number.
[[nodiscard]] Taken take(const TakeRules& rules, CpusView available, int count, Arena& arena,
                         TakeSteps* steps, CpusView kept = {});

}  // namespace pinfold::place
