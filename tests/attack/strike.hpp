#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "run_program.hpp"

/// Runs a program and strikes it at one of its system calls.
namespace pinfold::test {

/// What happens to the system call at position `at`, counted from 0 over all threads and children,
/// among those that the C library makes: not the dynamic loader, nor a sanitizer.
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

/// The name of the system calls that matter for files, else the number.
[[nodiscard]] std::string name_of_call(std::uint64_t call);

/// The errors that this system call may return on a sick machine. Never one that is an answer, such
/// as ENOENT.
[[nodiscard]] std::vector<int> errors_of_call(std::uint64_t call);

}  // namespace pinfold::test
