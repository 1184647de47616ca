#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// Functions of Go's standard library whose texts appear in the kubelet's messages.
namespace pinfold::go {

/// strconv.Atoi. Errors: kInvalidArgument with its text, `strconv.Atoi: parsing "x": invalid
/// syntax` or `... value out of range`.
[[nodiscard]] Result<std::int64_t> atoi(std::string_view text);

/// strconv.ParseBool: 1 t T TRUE true True 0 f F FALSE false False.
[[nodiscard]] Result<bool> parse_bool(std::string_view text);

/// fmt's %q of a string: double quotes, with Go's escapes.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace pinfold::go
