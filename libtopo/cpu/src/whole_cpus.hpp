#pragma once

#include "pinfold/api/pod.hpp"

namespace pinfold::cpu {

/// Whole CPUs, as the kubelet sees them: amounts that differ from a whole number by less than a
/// thousandth count as the next one. 0 for anything else; capped to the range of int.
[[nodiscard]] int whole_cpus(const Quantity& amount);

}  // namespace pinfold::cpu
