#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// Every document of a YAML stream but the empty ones. Domain and errors: as parse_documents;
/// the text is valid UTF-8.
[[nodiscard]] Result<std::vector<nlohmann::json>> parse_yaml(std::string_view text);

}  // namespace pinfold
