#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// Helpers for reading documents: member access, and error messages with field and value.
namespace pinfold {

/// Makes `text` safe for a message: cut after `most` characters, with '?' for anything but
/// printable ASCII.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 200);

/// Formats a value for a message: strings in single quotes, other scalars as JSON, cut when long;
/// "an object" or "a list" for the rest.
[[nodiscard]] std::string show(const nlohmann::json& value);

/// Fails with kInvalidArgument, "path: value: expectation".
[[nodiscard]] tl::unexpected<Error> fail_field(std::string_view path, const nlohmann::json& value,
                                               std::string_view expectation);

/// Returns the member `key` of an object; nullptr if it is absent or null.
[[nodiscard]] const nlohmann::json* member(const nlohmann::json& object, std::string_view key);

/// Returns "path.key", or "key" at the top level.
[[nodiscard]] std::string join(std::string_view path, std::string_view key);

/// Returns the text of a string, number or boolean. (YAML reads an unquoted `1.36` as a number.)
/// Errors: kInvalidArgument for anything else.
[[nodiscard]] Result<std::string> scalar_text(std::string_view path, const nlohmann::json& value);

}  // namespace pinfold
