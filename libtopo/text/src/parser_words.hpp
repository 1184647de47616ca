#pragma once

#include <string_view>

/// Our words for what the parsers of JSON and YAML find wrong. Their own texts are for programmers
/// who know the parser, and change with its version.
namespace pinfold {

/// Domain: the text of a nlohmann::json::exception.
[[nodiscard]] std::string_view json_problem(std::string_view text);

/// Domain: the text of a YAML::Exception, without its place.
[[nodiscard]] std::string_view yaml_problem(std::string_view text);

}  // namespace pinfold
