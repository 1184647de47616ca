#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node.hpp"

/// The memory of a service over time.
namespace pinfold::load {

struct MemorySample {
  double seconds = 0;
  Memory memory;
};

/// By so much the median of the last quarter of the samples may be above that of the quarter before
/// it.
inline constexpr double kMemoryNoiseMib = 1;

/// Why the memory is too much: a sample above the limit, or growth in the second half of the run
/// (see kMemoryNoiseMib). nullopt: it is not. With less than 8 samples growth is not judged.
[[nodiscard]] std::optional<std::string> judge_memory(const std::vector<MemorySample>& samples,
                                                      double limit_mib);
/// An SVG picture. Domain: there are samples.
[[nodiscard]] std::string draw_memory(const std::vector<MemorySample>& samples, double limit_mib);

}  // namespace pinfold::load
