#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// Runs `work` in a child process, with limits on its time and memory, and returns the text that it
/// makes. For a library that crashes on hostile input. nullopt if `work` returns none.
/// Domain: `work` needs no other thread.
/// Errors: kInvalidArgument if the child was ended by a signal, with its name; kIo.
[[nodiscard]] Result<std::optional<std::string>> read_in_child(
    const std::function<std::optional<std::string>()>& work);

}  // namespace pinfold
