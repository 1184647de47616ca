#pragma once

#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/cli/command.hpp"
#include "pinfold/cli/run.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::tools {

/// Exit status of every command; scripts depend on it.
enum ExitStatus : int {
  kYes = 0,                        ///< done, admitted, equal
  kNo = 1,                         ///< a negative answer: rejected, check failed, different
  kBadRequest = cli::kUsageError,  ///< usage or input error: nothing has changed
  kUnknown = 3,                    ///< the change may have been made, in part or not at all
};

/// Notes that the command has changed something, or may have; a later error then no longer means
/// that nothing has changed.
void note_change();
/// changing() runs work() between begin_change() and end_change(). If an exception leaves work(),
/// the outcome of the change is unknown: see report_exception.
void begin_change();
void end_change();
template <class Work>
auto changing(Work&& work) {
  begin_change();
  auto done = work();
  end_change();
  return done;
}
/// Reports an exception that has left a command. Returns the exit status of the program.
[[nodiscard]] int report_exception(ErrorCode code, std::string message);
/// Converts the exit status of a command to that of the program.
[[nodiscard]] int final_status(int status);

enum class OutputFormat { kText, kJson, kName };

/// The format of messages on standard error; text until it is set. Set once, by main.
void set_message_format(OutputFormat format);
/// Returns kJson if -o or --output asks for json: usage errors are printed in that format, too.
[[nodiscard]] OutputFormat requested_format(int argc, const char* const* argv);

/// Prints an error to standard error, and returns kBadRequest. Text: "pinfold: message". JSON, on
/// one line: {"error": {"code": "not found", "errno": 0, "message": "..."}}. Escapes control
/// characters.
ExitStatus report(const Error& error);
/// Prints the contradictions that discovery found to standard error.
void print_warnings(const Machine& machine);
/// Prints "pinfold: warning: message", or {"warning": {"code": "", "message": "..."}}. The same
/// message is printed only once.
void warn(const std::string& message, std::string_view code = {});
/// Returns the exit status of a command. Reports its error, and whether it changed something
/// before.
[[nodiscard]] int exit_status(const Result<ExitStatus>& outcome);

/// Declares --output text|json.
[[nodiscard]] cli::Option output_option(OutputFormat& format);

}  // namespace pinfold::tools
