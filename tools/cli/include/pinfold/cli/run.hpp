#pragma once

#include <functional>
#include <string>

#include "pinfold/cli/command.hpp"

namespace pinfold::cli {

/// Exit status after an error in the command line, or if the output cannot be written.
inline constexpr int kUsageError = 2;

/// Prints an error. `is_usage`: the error is in the command line.
using ReportError = std::function<void(const std::string& message, bool is_usage)>;

/// Parses the command line and runs the command that it names. Adds --help and --help-all to every
/// command, --version if the program has a version, and `help COMMAND` as a synonym of
/// `COMMAND --help`. Help goes to standard output, errors to `report`.
/// Returns the exit status, which is also kUsageError if standard output cannot be written (output
/// is buffered, so a command that only prints does not notice). A reader that has closed its pipe
/// is not an error. Exceptions of the command pass through.
[[nodiscard]] int run(const Command& program, int argc, const char* const* argv,
                      const ReportError& report);

}  // namespace pinfold::cli
