#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// What the readers of documents share: values and fields in messages.
namespace pinfold {

/// `text` as a part of a message: short, and nothing but printable ASCII.
[[nodiscard]] std::string printable(std::string_view text);

/// A value as a message shows it: strings in single quotes, the rest as JSON, cut when long.
[[nodiscard]] std::string show(const nlohmann::json& value);

/// kInvalidArgument, "path: value: expectation".
[[nodiscard]] tl::unexpected<Error> fail_field(std::string_view path, const nlohmann::json& value,
                                               std::string_view expectation);

/// The member `key` of an object; nullptr if it is absent or null.
[[nodiscard]] const nlohmann::json* member(const nlohmann::json& object, std::string_view key);

/// "path.key", or "key" at the top.
[[nodiscard]] std::string join(std::string_view path, std::string_view key);

/// A string, or a number or boolean as YAML leaves it when somebody forgets the quotes: its text.
/// Errors: kInvalidArgument for anything else.
[[nodiscard]] Result<std::string> scalar_text(std::string_view path, const nlohmann::json& value);

}  // namespace pinfold
