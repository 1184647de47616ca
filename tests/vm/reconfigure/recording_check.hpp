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

/// An action while programs recorded, and the CPUs that were exclusive before and after it. Times
/// are in nanoseconds of CLOCK_MONOTONIC; two equal times mean no action.
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
/// Returns the last mark of a folder. Errors: kIo if there is none; kCorrupt.
[[nodiscard]] Result<Mark> last_mark(const std::string& folder);

/// Returns the NUMA nodes of a program's memory, from a sample taken after this call began. Errors:
/// kIo; kCorrupt.
[[nodiscard]] Result<CpuSet> nodes_of_memory(const std::string& folder, const std::string& name);

/// The results of checking the recordings of a folder; the marks say when which CPUs were
/// exclusive.
struct CheckedRecordings {
  std::vector<ProgramReport> programs;
  std::vector<std::string> violations;  ///< of exclusive CPUs
};
/// Checks that between two marks no program runs on an exclusive CPU of another. During a mark, no
/// program may be on a CPU that another has exclusively before or after it while that one is there
/// too; programs that become exclusive or cease to be are then not checked. Errors: kIo; kCorrupt
/// for marks or a recording that are malformed or incomplete.
[[nodiscard]] Result<CheckedRecordings> check_recordings(const std::string& folder);

}  // namespace pinfold::test
