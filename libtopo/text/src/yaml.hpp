#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// The documents of a YAML stream, without empty ones. Domain and errors: as parse_documents; the
/// text is valid UTF-8.
[[nodiscard]] Result<std::vector<nlohmann::json>> parse_yaml(std::string_view text);

}  // namespace pinfold
