#pragma once

#include "pinfold/base/result.hpp"
#include "pinfold/cli/command.hpp"
#include "pinfold/cli/run.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::tools {

/// Exit status of every command; scripts depend on it.
enum ExitStatus : int {
  kYes = 0,                        ///< done, admitted, equal
  kNo = 1,                         ///< a negative answer: rejected, check failed, different
  kBadRequest = cli::kUsageError,  ///< usage or input error
};

/// Prints "pinfold: message" to standard error; returns kBadRequest.
ExitStatus report(const Error& error);
/// Prints the contradictions that discovery found to standard error.
void print_warnings(const Machine& machine);
/// The exit status of a command; reports its error.
[[nodiscard]] int exit_status(const Result<ExitStatus>& outcome);

enum class OutputFormat { kText, kJson };
/// --output text|json.
[[nodiscard]] cli::Option output_option(OutputFormat& format);

}  // namespace pinfold::tools
