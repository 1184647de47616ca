#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// Functions of Go's standard library whose output appears in the kubelet's messages.
namespace pinfold::go {

/// Parses like Go's strconv.Atoi. Errors: kInvalidArgument with Go's text, `strconv.Atoi: parsing
/// "x": invalid syntax` or `... value out of range`.
[[nodiscard]] Result<std::int64_t> atoi(std::string_view text);

/// Parses like Go's strconv.ParseBool: 1 t T TRUE true True 0 f F FALSE false False.
[[nodiscard]] Result<bool> parse_bool(std::string_view text);

/// Quotes like Go's %q: double quotes, with Go's escapes.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace pinfold::go
