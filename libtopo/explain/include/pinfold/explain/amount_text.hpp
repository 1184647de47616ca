#pragma once

#include <string>

#include "pinfold/types/quantity.hpp"

namespace pinfold {

enum class AmountRounding { kDown, kUp };

/// Formats an amount for people: bytes of 1Mi or more in whole Mi, rounded down (for what is free
/// or held) or up (for what is needed or missing).
[[nodiscard]] std::string readable(const Quantity& amount, AmountRounding rounding);

}  // namespace pinfold
