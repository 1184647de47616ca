#pragma once

#include <string_view>
#include <vector>

#include "pinfold/place/cpu_policy_options.hpp"

namespace pinfold {

/// Returns the names of all options.
[[nodiscard]] std::vector<std::string_view> cpu_policy_option_names();

}  // namespace pinfold
