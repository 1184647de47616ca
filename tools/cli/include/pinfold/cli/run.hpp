#pragma once

#include "pinfold/cli/command.hpp"

namespace pinfold::cli {

/// Exit status after an error in the command line.
inline constexpr int kUsageError = 2;

/// Parses the command line and runs the command that it names; adds --help and --help-all.
/// Returns: the exit status. Help goes to standard output, usage errors to standard error.
/// Errors: exceptions of the command pass through.
[[nodiscard]] int run(const Command& program, int argc, const char* const* argv);

}  // namespace pinfold::cli
