#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "members.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold::socket {

/// Returns a message as one line, without a line break.
[[nodiscard]] std::string to_line(const nlohmann::json& message);
/// Errors: kInvalidArgument if it is too long or not a JSON object with members.
[[nodiscard]] Result<nlohmann::json> parse_line(std::string_view line);

[[nodiscard]] nlohmann::json error_json(const Error& error);
[[nodiscard]] Result<Error> read_error(const nlohmann::json& value, const std::string& path);

/// Returns name and value of the only member of a message, which tells its type.
[[nodiscard]] Result<std::pair<std::string, const nlohmann::json*>> only_member(
    const nlohmann::json& message);

}  // namespace pinfold::socket
