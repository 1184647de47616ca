#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::test {

/// By program, "POD/CONTAINER".
using Exclusive = std::map<std::string, CpuSet>;

/// What was done while programs recorded, and which CPUs were exclusive before and after it. Times
/// in nanoseconds of CLOCK_MONOTONIC; the same time twice: nothing was done.
struct Mark {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Exclusive before;
  Exclusive after;
};

[[nodiscard]] std::int64_t monotonic_now();
/// Appends a line to the marks of a folder. Errors: kIo.
[[nodiscard]] Result<void> add_mark(const std::string& folder, const Mark& mark);

struct ProgramReport {
  std::string name;
  double longest_pause = 0;  ///< during a mark, in milliseconds
  std::string text;          ///< one line
};
/// The last one of a folder. Errors: kIo if there is none; kCorrupt.
[[nodiscard]] Result<Mark> last_mark(const std::string& folder);

/// The NUMA nodes that the memory of a program is on: of a sample that it takes after this is
/// called. Errors: kIo; kCorrupt.
[[nodiscard]] Result<CpuSet> nodes_of_memory(const std::string& folder, const std::string& name);

/// What the recordings of a folder show; the marks say when which CPUs were exclusive.
struct CheckedRecordings {
  std::vector<ProgramReport> programs;
  std::vector<std::string> violations;  ///< of exclusive CPUs
};
/// Between two marks no program runs on an exclusive CPU of another. During one, no program is on a
/// CPU that a program has exclusively before or after it, at a time at which that program is there
/// too; programs that become exclusive or cease to be are not looked at then.
/// Errors: kIo; kCorrupt for marks or a recording that cannot be read, or that is not complete.
[[nodiscard]] Result<CheckedRecordings> check_recordings(const std::string& folder);

}  // namespace pinfold::test
