#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::tools {

/// Where a program of this installation can be: the directory of this program, then the one for
/// programs that users do not call. Errors: kIo.
[[nodiscard]] Result<std::vector<std::string>> places_of_program(const std::string& name);

/// What `program arguments...` prints, at most `most` bytes. The program gets an empty environment
/// and no input, and is killed after ten seconds. Its standard error is this program's.
/// Errors: kIo if it cannot be run, fails, takes too long, or prints more; they name the program
/// and its first argument.
[[nodiscard]] Result<std::string> program_output(const std::string& program,
                                                 const std::vector<std::string>& arguments,
                                                 std::size_t most);

}  // namespace pinfold::tools
