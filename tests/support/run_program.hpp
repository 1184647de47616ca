#pragma once

#include <string>

namespace pinfold::test {

/// What a program left behind. `status`: its exit status, 128 + N after signal N.
struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

/// Runs a command line of the shell with its two output streams in files.
[[nodiscard]] Outcome run_shell(const std::string& command_line);

}  // namespace pinfold::test
