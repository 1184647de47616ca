#pragma once

#include <optional>
#include <string_view>

#include "pinfold/decide/start_advice.hpp"

namespace pinfold {

/// Returns the advice that follows from the kubelet's text alone; nullopt if there is none.
[[nodiscard]] std::optional<StartAdvice> advise_by_text(std::string_view error);

}  // namespace pinfold
