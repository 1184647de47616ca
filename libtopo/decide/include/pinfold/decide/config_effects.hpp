#pragma once

#include <string>
#include <vector>

#include "pinfold/api/config.hpp"

namespace pinfold {

/// What a configuration says without effect, each as one sentence: options of a policy that is not
/// configured, and feature gates that nobody knows.
[[nodiscard]] std::vector<std::string> settings_without_effect(const Config& config);

}  // namespace pinfold
