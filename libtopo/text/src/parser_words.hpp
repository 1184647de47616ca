#pragma once

#include <string_view>

/// Our words for the errors that the parsers of JSON and YAML find. Their own texts are for
/// programmers who know the parser, and change with its version.
namespace pinfold {

/// Returns our words for an error. Domain: the text of a nlohmann::json::exception.
[[nodiscard]] std::string_view json_problem(std::string_view text);

/// Returns our words for an error. Domain: the problem and the context of a yaml_parser_t.
[[nodiscard]] std::string_view yaml_problem(std::string_view text);

}  // namespace pinfold
