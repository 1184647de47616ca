#pragma once

#include <functional>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold::simulate {

/// Calls set(key, value) for each part of "nodes=5,seed=2".
/// Errors: those of `set`; kInvalidArgument for a key that occurs twice.
[[nodiscard]] Result<void> read_key_values(
    std::string_view text,
    const std::function<Result<void>(std::string_view key, std::string_view value)>& set);

}  // namespace pinfold::simulate
