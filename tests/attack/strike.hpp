#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "run_program.hpp"

/// Runs a program and strikes it at one of its system calls.
namespace pinfold::test {

/// What to do to the system call at position `at`, counted from 0 over all threads and children.
/// Counts only calls of the C library, not of the dynamic loader or a sanitizer.
struct Strike {
  enum class Kind { kNone, kKill, kFail };
  Kind kind = Kind::kNone;
  std::size_t at = 0;
  int error = 0;  ///< kFail: the call does nothing and returns this errno
};

struct Struck {
  Outcome outcome;
  std::vector<std::uint64_t> calls;  ///< the number of each system call, in order
};

/// Runs `argv` in a directory, with standard input from a file. Throws std::runtime_error if
/// programs cannot be traced here.
[[nodiscard]] Struck run_struck(const std::vector<std::string>& argv, const std::string& directory,
                                const std::string& input, const Strike& strike);

/// Returns the name of a system call that matters for files, or else its number.
[[nodiscard]] std::string name_of_call(std::uint64_t call);

/// Returns the errors that this system call may return on a faulty machine. Excludes errors that
/// are an answer, such as ENOENT.
[[nodiscard]] std::vector<int> errors_of_call(std::uint64_t call);

}  // namespace pinfold::test
