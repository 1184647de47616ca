#pragma once

#include <string>

#include "pinfold/types/quantity.hpp"

namespace pinfold {

enum class AmountRounding { kDown, kUp };

/// An amount for people: bytes from 1Mi on in whole Mi, rounded down (what is free or held) or up
/// (what is needed or missing).
[[nodiscard]] std::string readable(const Quantity& amount, AmountRounding rounding);

}  // namespace pinfold
