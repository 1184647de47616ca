#pragma once

#include "pinfold/api/pod.hpp"

namespace pinfold::cpu {

/// Returns the amount as whole CPUs by the kubelet's rule: an amount less than a thousandth below a
/// whole number counts as that number. 0 for any other fraction; capped to the range of int.
[[nodiscard]] int whole_cpus(const Quantity& amount);

}  // namespace pinfold::cpu
