#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold::go {

/// Parses like Go's time.ParseDuration: "100ms", "1h2m0.5s", "-1.5us". Returns nanoseconds.
/// Errors: kInvalidArgument with Go's text (`time: missing unit in duration "100"`).
[[nodiscard]] Result<std::int64_t> parse_duration(std::string_view text);

/// Prints like Go's time.Duration.String: "100ms", "1.001s", "999µs", "0s".
[[nodiscard]] std::string duration_to_string(std::int64_t nanoseconds);

}  // namespace pinfold::go
