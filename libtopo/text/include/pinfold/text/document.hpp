#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// Reads one YAML or JSON document into a JSON value: the one way in for every file that people
/// write. Text that begins with '{' or '[' is JSON. Scalars that YAML leaves plain become numbers,
/// booleans, null or strings by YAML 1.2's core rules, so that `cpu: 2` and `cpu: "2"` both work
/// where a quantity is expected.
/// Domain: UTF-8, at most 16 MiB, at most 100 levels deep, no key twice, no merge keys ("<<"), no
/// aliases that repeat more than 1 MiB.
/// Errors: kInvalidArgument, with line and column.
[[nodiscard]] Result<nlohmann::json> parse_document(std::string_view text);

/// As parse_document, for a YAML stream of several documents ("---"). Empty ones are left out.
[[nodiscard]] Result<std::vector<nlohmann::json>> parse_documents(std::string_view text);

}  // namespace pinfold
