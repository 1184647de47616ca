#pragma once

#include <cstdint>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold::simulate {

/// Errors: kInvalidArgument, "'x': expected 1 to 100".
[[nodiscard]] Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least,
                                                 std::uint64_t most);

}  // namespace pinfold::simulate
