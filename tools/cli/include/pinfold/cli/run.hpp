#pragma once

#include <functional>
#include <string>

#include "pinfold/cli/command.hpp"

namespace pinfold::cli {

/// Exit status after an error in the command line, and if the output cannot be written.
inline constexpr int kUsageError = 2;

/// Prints an error; `is_usage`: of the command line.
using ReportError = std::function<void(const std::string& message, bool is_usage)>;

/// Parses the command line and runs the command that it names. Adds --help and --help-all to every
/// command, --version if the program has a version, and `help COMMAND` as another way to say
/// `COMMAND --help`.
/// Returns: the exit status. Help goes to standard output, errors to `report`. kUsageError too if
/// standard output cannot be written, which a command that only prints does not notice: output is
/// buffered. A reader that has closed its pipe is no error.
/// Errors: exceptions of the command pass through.
[[nodiscard]] int run(const Command& program, int argc, const char* const* argv,
                      const ReportError& report);

}  // namespace pinfold::cli
