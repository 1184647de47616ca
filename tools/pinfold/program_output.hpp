#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::tools {

/// Returns the paths where a program of this installation may be: in the directory of this program,
/// then in the one for programs that users do not call. Errors: kIo.
[[nodiscard]] Result<std::vector<std::string>> places_of_program(const std::string& name);

/// Runs `program arguments...` and returns its output, at most `most` bytes. The program gets an
/// empty environment and no input, and is killed after ten seconds. It shares this program's
/// standard error.
/// Errors: kIo if it cannot be run, fails, takes too long, or prints more; they name the program
/// and its first argument.
[[nodiscard]] Result<std::string> program_output(const std::string& program,
                                                 const std::vector<std::string>& arguments,
                                                 std::size_t most);

}  // namespace pinfold::tools
