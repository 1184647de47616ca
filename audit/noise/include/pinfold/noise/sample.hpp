#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pinfold/audit/tasks.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/noise/counters.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::noise {

/// A thread and how much it has run.
struct ThreadSample {
  audit::LinuxTask task;
  ThreadTimes times;
};

/// The kernel's counters at one moment. A file that does not exist leaves its member empty.
struct NoiseSample {
  std::chrono::nanoseconds at{0};  ///< of a steady clock
  CountTable interrupts = {};
  CountTable softirqs = {};
  std::map<CpuId, LostTimes> lost = {};
  std::map<CpuId, std::uint64_t> runs = {};
  std::vector<ThreadSample> threads = {};  ///< those that run or may run on the CPUs, by process
};

/// Reads DIR/proc; writes nothing. Costs four files, and three more for each thread of the machine.
/// Errors: kNotFound, kIo if the interrupts or the threads cannot be read.
[[nodiscard]] Result<NoiseSample> read_sample(const std::string& root, const CpuSet& cpus);

/// Reads everything but the threads, which costs the same on every machine.
/// Errors: kNotFound, kIo if the interrupts cannot be read.
[[nodiscard]] Result<NoiseSample> read_counters(const std::string& root);

}  // namespace pinfold::noise
