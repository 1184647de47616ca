#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/text/document_rules.hpp"

namespace pinfold {

/// Parses a YAML stream; skips empty documents. Domain and errors as for parse_documents; the text
/// must be valid UTF-8.
[[nodiscard]] Result<std::vector<nlohmann::json>> parse_yaml(std::string_view text,
                                                             DocumentRules rules);

}  // namespace pinfold
