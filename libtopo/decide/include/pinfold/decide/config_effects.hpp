#pragma once

#include <string>
#include <vector>

#include "pinfold/api/config.hpp"

namespace pinfold {

/// Returns the settings of a configuration that have no effect, one sentence each: options of a
/// policy that is not configured, and unknown feature gates.
[[nodiscard]] std::vector<std::string> settings_without_effect(const Config& config);

}  // namespace pinfold
