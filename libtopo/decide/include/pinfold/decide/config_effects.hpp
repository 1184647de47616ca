#pragma once

#include <string>
#include <vector>

#include "pinfold/api/config.hpp"

namespace pinfold {

/// Returns the settings of a configuration that have no effect, one sentence each: options of a
/// policy that is not configured, and unknown feature gates.
[[nodiscard]] std::vector<std::string> settings_without_effect(const Config& config);

/// Returns all warnings about a configuration: `of_text`, those from reading its text (see
/// ParsedConfig), and the settings without effect. Every interface prints these. Domain: `config`
/// with its profile, and with its unknown gates.
[[nodiscard]] std::vector<std::string> config_warnings(std::vector<std::string> of_text,
                                                       const Config& config);

}  // namespace pinfold
