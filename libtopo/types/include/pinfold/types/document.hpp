#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// Reads one YAML or JSON document into a JSON value: the one way in for every file that people
/// write. Scalars that YAML leaves plain become numbers, booleans, null or strings by YAML 1.2's
/// core rules, so that `cpu: 2` and `cpu: "2"` both work where a quantity is expected.
/// Domain: at most 16 MiB, at most 100 levels deep, no aliases that grow past the size limit.
/// Errors: kInvalidArgument, with line and column.
[[nodiscard]] Result<nlohmann::json> parse_document(std::string_view text);

/// As parse_document, for a YAML stream of several documents ("---").
[[nodiscard]] Result<std::vector<nlohmann::json>> parse_documents(std::string_view text);

}  // namespace pinfold
