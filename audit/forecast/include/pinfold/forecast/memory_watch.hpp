#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/forecast/forecast.hpp"
#include "pinfold/forecast/sample.hpp"

namespace pinfold::forecast {

/// The memory of NUMA nodes, and the forecasts about it.
struct MemoryOutlook {
  std::vector<NumaMemory> numa = {};     ///< empty: not read yet
  std::vector<Forecast> forecasts = {};  ///< the soonest first
  std::uint64_t alarms = 0;              ///< that have begun so far

  friend bool operator==(const MemoryOutlook&, const MemoryOutlook&) = default;
};

/// Samples the memory of a machine in each call. Reads control groups only while the memory of a
/// NUMA node falls; otherwise it costs next to nothing.
class MemoryWatch {
 public:
  /// `root`: the directory with sys/ and proc/; "" is this machine.
  explicit MemoryWatch(std::string root) : root_(std::move(root)) {}

  /// Takes a sample and returns the forecasts. `now` never decreases; calls at the same moment
  /// count once. `names` is called only if control groups are read.
  /// Errors: those of read_numa_memory.
  [[nodiscard]] Result<std::vector<Forecast>> look(std::chrono::nanoseconds now,
                                                   const std::function<GroupNames()>& names);

  /// Returns the NUMA nodes of the last sample; empty before the first one.
  [[nodiscard]] std::vector<NumaMemory> numa() const;

 private:
  std::string root_;
  std::vector<MemorySample> samples_;  ///< only those that count
};

}  // namespace pinfold::forecast
