#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// What a recorder keeps in a mapped file, so that a SIGKILL loses nothing: where its threads ran,
/// and on which NUMA nodes its memory was.
namespace pinfold::test {

inline constexpr std::size_t kMaxRuns = 40000;
inline constexpr std::size_t kMaxThreads = 4;
/// After a longer gap between samples, in nanoseconds, the place is unknown and another run begins.
inline constexpr std::int64_t kHole = 250'000'000;

/// Consecutive samples with the same place. Times in nanoseconds of CLOCK_MONOTONIC.
struct Run {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t longest;      ///< the longest time between two samples
  std::int64_t longest_end;  ///< when that ended
  std::uint64_t place;       ///< a CPU; for memory, a bit for each NUMA node that has pages
};

struct Runs {
  std::atomic<std::uint64_t> count;  ///< more than kMaxRuns: the rest is lost
  Run runs[kMaxRuns];
};

struct Recording {
  std::uint64_t threads;
  Runs memory;
  Runs cpus[kMaxThreads];
};

}  // namespace pinfold::test
