#pragma once

#include <string>

#include "pinfold/base/result.hpp"

/// The three outcomes of a request that changes a node: docs/operations.md, "Done, not done,
/// unknown". An error means that the request was not done, unless is_unknown_outcome() is true.
namespace pinfold::agent {

/// Makes the error for a request that may have been done, fully or partly, or not at all: kIo with
/// ENOTRECOVERABLE, "MESSAGE; the change may have been made".
[[nodiscard]] Error unknown_outcome(const std::string& message);
[[nodiscard]] bool is_unknown_outcome(const Error& error);

/// Returns the error of a request that was not done because the service is stopping: kBusy with
/// ESHUTDOWN.
[[nodiscard]] Error stopping_error();
[[nodiscard]] bool is_stopping(const Error& error);

/// Describes what an error of NodeAgent::checkpoint_journal means for readers of the state
/// directory, or for the request before it.
[[nodiscard]] std::string describe_not_settled(const Error& error);

}  // namespace pinfold::agent
