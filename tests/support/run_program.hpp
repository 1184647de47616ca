#pragma once

#include <functional>
#include <string>

namespace pinfold::test {

/// The result of a program. `status`: its exit status, 128 + N after signal N.
struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

/// Runs a shell command line and captures both output streams.
[[nodiscard]] Outcome run_shell(const std::string& command_line);

/// Checks each outcome of run_shell; see documents.cpp.
using OutcomeCheck = std::function<void(const std::string& command_line, const Outcome& outcome)>;
void set_outcome_check(OutcomeCheck check);

}  // namespace pinfold::test
