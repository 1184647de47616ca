#pragma once

#include <string>

#include "pinfold/base/result.hpp"

/// The three outcomes of a request that changes a node: docs/operations.md, "Done, not done,
/// unknown". An error means that it is not done, unless is_unknown_outcome() holds for it.
namespace pinfold::agent {

/// The request may be done, wholly or in part, or not: kIo with ENOTRECOVERABLE, "MESSAGE; the
/// change may be made or not".
[[nodiscard]] Error unknown_outcome(const std::string& message);
[[nodiscard]] bool is_unknown_outcome(const Error& error);

/// What an error of NodeAgent::settle means: for a reader of the state directory, or for the
/// request before it.
[[nodiscard]] std::string describe_not_settled(const Error& error);

}  // namespace pinfold::agent
