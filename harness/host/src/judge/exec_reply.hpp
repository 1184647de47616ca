#pragma once

#include <string>

#include "pinfold/harness/json.hpp"

/// What the end of a program in the guest looks like in a message.
namespace pinfold::harness {

/// Returns "status 1", "signal 9" or "the time limit" for an exec reply.
[[nodiscard]] std::string describe_end(const Json& reply);
/// Returns the end of a program's output.
[[nodiscard]] std::string excerpt(std::string text);

}  // namespace pinfold::harness
