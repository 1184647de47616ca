#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pinfold/harness/judge.hpp"

namespace pinfold::harness {

/// A time during which a group had these CPUs, as the sampler saw it.
struct TimelineSpan {
  std::string group;
  std::string cpus;
  std::string overlap;  ///< "2-3 of podA/c": exclusive CPUs of another group among them; "": none
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;

  friend bool operator==(const TimelineSpan&, const TimelineSpan&) = default;
};

/// The cpusets of all groups over time.
struct Timeline {
  std::vector<TimelineSpan> spans;  ///< by group, then by time
  std::int64_t end_ms = 0;
  std::size_t left_out = 0;  ///< spans beyond the limit, the shortest without an overlap first
};

/// `changes`: the sampler's, see split_changes: overlaps are looked for below, the others are drawn
/// only. `times_ms`: since its start, one for each state.
/// Domain: any text and times; states without a time are left out.
[[nodiscard]] Timeline timeline_of(const SplitChanges& changes,
                                   const std::vector<std::int64_t>& times_ms, std::int64_t end_ms,
                                   const ExclusiveCpus& exclusive);

}  // namespace pinfold::harness
