#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/harness/judge.hpp"

namespace pinfold::harness {

/// A time span during which the sampler saw a group with these CPUs.
struct TimelineSpan {
  std::string group;
  std::string cpus;
  std::string overlap;  ///< "2-3 of podA/c": another group's exclusive CPUs; "": none
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;

  friend bool operator==(const TimelineSpan&, const TimelineSpan&) = default;
};

/// The cpusets of all groups over time.
struct Timeline {
  std::vector<TimelineSpan> spans;  ///< by group, then by time
  std::int64_t end_ms = 0;
  std::size_t left_out = 0;  ///< omitted spans beyond the limit: the shortest without an overlap
};

/// Builds the timeline. `changes`: from the sampler, see split_changes; groups below the folder are
/// checked for overlaps, the others are only drawn. `times_ms`: time of each state since the
/// sampler's start.
/// Domain: any text and times; states without a time are skipped.
[[nodiscard]] Timeline timeline_of(const SplitChanges& changes,
                                   const std::vector<std::int64_t>& times_ms, std::int64_t end_ms,
                                   const ExclusiveCpus& exclusive);

}  // namespace pinfold::harness
