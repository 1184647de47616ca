#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/judge.hpp"

namespace pinfold::harness {

/// The program of sandboxes in the guest. A sandbox only waits, and does not count as a container.
inline constexpr const char* kSandboxProgram = "/pause";

/// Where tasks of containers ran, according to the guest kernel's record of the scheduler. Times in
/// nanoseconds of its CLOCK_MONOTONIC; groups by their index in `groups`.
struct WitnessRecord {
  /// Tasks of a group ran on a CPU for `ran` in total; meanwhile no other group's did.
  struct Run {
    std::size_t group = 0;
    std::int32_t cpu = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t ran = 0;
  };
  /// From the first program that a task of a group executed to the end of its last task.
  struct Life {
    std::int64_t from = 0;
    std::int64_t to = INT64_MAX;  ///< INT64_MAX: it had not ended
    std::string program;          ///< "-": it came from another group of its container
  };
  std::vector<std::string> groups;  ///< paths below the judged root: "podA/c"
  std::vector<Run> runs;            ///< by CPU, then by time; those of a CPU do not overlap
  std::map<std::size_t, std::vector<Life>> lives;
  std::vector<std::int64_t> marks;  ///< ascending
};

/// Parses the text of the guest's ContainerRuns.
/// Errors: kInvalidArgument, with the line.
[[nodiscard]] Result<WitnessRecord> parse_witness(std::string_view text);

/// The total time, in nanoseconds, that the tasks of a container may run on exclusive CPUs of
/// another one. The kernel needs less time to move a task.
inline constexpr std::int64_t kWitnessTolerance = 1'000'000;

struct WitnessFindings {
  std::vector<std::string> intruders;  ///< "podB/c ran 12.300 ms on CPUs 2-3 of podA/c"
  std::vector<std::string> misplaced;  ///< "podA/c ran 0.400 ms on CPU 5, outside its CPUs"
  std::size_t owners = 0;              ///< containers and pods with exclusive CPUs that have run
  std::int64_t by_sandboxes = 0;       ///< ns that sandboxes ran on exclusive CPUs
};
/// Judges from the record alone whether exclusive CPUs were exclusive. `owned`: exclusive CPUs
/// after each mark; `lasting`: those of groups that are not in `owned` and keep their CPUs as long
/// as they live.
///
/// A container owns its CPUs from its first program on. Between two marks it owns those that it has
/// at both, those that it loses until its last run on them, and those that it gains from its first
/// run on them; while its CPUs change it may also wait in the shared pool. If it has none at one of
/// the marks, those of the other do not count, unless it began in between.
[[nodiscard]] WitnessFindings judge_witness(const WitnessRecord& record,
                                            const std::vector<ExclusiveCpus>& owned,
                                            const ExclusiveCpus& lasting);

}  // namespace pinfold::harness
