#pragma once

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

}  // namespace pinfold::test
