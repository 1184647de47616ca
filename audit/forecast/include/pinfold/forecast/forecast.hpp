#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pinfold/enforce/layout.hpp"
#include "pinfold/forecast/sample.hpp"

/// Predicts when NUMA nodes run out of memory, from samples of the last seconds. Pure.
/// docs/memory-forecast.md has the rules.
namespace pinfold::forecast {

using Seconds = std::chrono::duration<double>;

/// The samples that count: those of the last kWindow, and at least the last kLeastSamples.
inline constexpr Seconds kWindow{20};
inline constexpr std::size_t kLeastSamples = 5;
/// Anything further away is not forecast.
inline constexpr Seconds kHorizon{600};

/// A group that uses more and more memory.
struct Grower {
  std::string label;            ///< see GroupMemory
  double bytes_per_second = 0;  ///< on the NUMA nodes of the forecast
  bool is_bound = false;        ///< it may use no other NUMA nodes
  double stalled = 0;           ///< see parse_stalled

  friend bool operator==(const Grower&, const Grower&) = default;
};

struct Forecast {
  enum class Kind {
    kNumaNodes,  ///< NUMA nodes are out of memory
    kLimit,      ///< before that, a group reaches its memory limit
  };
  Kind kind = Kind::kNumaNodes;
  enforce::NodeSet numa_nodes = {};  ///< kNumaNodes: all of them together
  std::string group = {};            ///< kLimit: its label
  Seconds in{0};                     ///< 0 to kHorizon
  double bytes_per_second = 0;       ///< how fast the available memory, or that below the limit,
                                     ///< falls
  std::uint64_t bytes = 0;           ///< kNumaNodes: available now; kLimit: the limit
  std::vector<Grower> growers = {};  ///< kNumaNodes: the fastest first
  /// kNumaNodes: the groups that may use no other NUMA nodes, by label.
  std::vector<std::string> bound = {};

  friend bool operator==(const Forecast&, const Forecast&) = default;
};

/// Returns what happens within kHorizon if the trend of the samples continues, the soonest first.
/// The NUMA nodes of a forecast are a set to which a group is bound, or all of the machine: where a
/// group may use others, nothing runs out. Without groups in the last sample, each NUMA node counts
/// separately. A set that contains the NUMA nodes of a sooner forecast gets no forecast.
/// Domain: samples of one machine in the order of their times.
[[nodiscard]] std::vector<Forecast> forecast(std::span<const MemorySample> samples);

/// Returns whether the available memory of a NUMA node falls so fast that it is used up within
/// kHorizon. If not, there is no forecast, regardless of the groups.
[[nodiscard]] bool is_falling(std::span<const MemorySample> samples);

/// Returns one sentence without a full stop: "NUMA 1 is out of memory in about 40 s:
/// default/db/main grows by 120Mi/s and is bound to it".
[[nodiscard]] std::string to_string(const Forecast& forecast);

}  // namespace pinfold::forecast
