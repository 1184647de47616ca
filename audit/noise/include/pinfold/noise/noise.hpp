#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/noise/sample.hpp"
#include "pinfold/noise/source.hpp"
#include "pinfold/types/cpuset.hpp"

/// Measures what interrupts CPUs: the difference between two samples. Pure. docs/noise.md has the
/// rules.
namespace pinfold::noise {

/// The noise of one CPU.
struct CpuNoise {
  CpuId cpu;
  double per_second = 0;  ///< interruptions: of interrupts and of threads that are not the owner's
  double lost_us = 0;     ///< microseconds lost per second, as far as the kernel counts them
  int score = 100;        ///< quiet_score() of both
  std::vector<NoiseSource> sources = {};  ///< the most frequent first

  friend bool operator==(const CpuNoise&, const CpuNoise&) = default;
};

struct NoiseReport {
  std::chrono::nanoseconds duration{0};  ///< between the two samples
  std::vector<CpuNoise> cpus = {};       ///< ascending

  friend bool operator==(const NoiseReport&, const NoiseReport&) = default;
};

/// Which CPUs are measured, and whose threads are not noise there.
struct NoiseScope {
  CpuSet cpus;
  /// The cgroup of each CPU's owner, as an absolute directory. On a CPU without an owner, every
  /// thread of a process is noise.
  std::map<CpuId, std::string> owners = {};
  /// CPUs that may be interrupted, for remedies, which never name `cpus`; empty: unknown.
  CpuSet housekeeping = {};
};

/// Compares two samples of the same machine. Counters that began after the first sample count from
/// zero; one that has fallen (its CPU was offline) counts as unchanged. If both were taken at the
/// same moment, nothing happened.
[[nodiscard]] NoiseReport measure(const NoiseSample& before, const NoiseSample& after,
                                  const NoiseScope& scope);

/// Sorts the sources of a CPU, and adds the remedy for each and the score.
void finish(const NoiseScope& scope, CpuNoise& noise);

/// Returns how many interrupts a CPU has handled since the start of the kernel, by kind:
/// kInterrupt, kTimer and kKernelInterrupt, each also if it is 0.
[[nodiscard]] std::map<SourceKind, std::uint64_t> interrupts_by_kind(const CountTable& interrupts,
                                                                     CpuId cpu);

/// Returns 100 for a CPU that nothing interrupts, 10 points less for every tenfold of (1 +
/// interruptions per second) and of (1 + microseconds lost per second), and at least 0.
/// Domain: both are finite and not negative.
[[nodiscard]] int quiet_score(double per_second, double lost_us);

}  // namespace pinfold::noise
