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

/// The median of anonymous memory in the last quarter of the samples may exceed that of the quarter
/// before it by this much.
inline constexpr double kMemoryNoiseMib = 1;

/// Returns why memory use is too high: a sample whose total is above the limit, or anonymous memory
/// that grows in the second half of the run (see kMemoryNoiseMib); nullopt if it is not. Pages of
/// the program itself do not count as growth: each is counted once its code first runs, which can
/// be late. With fewer than 8 samples growth is not judged.
[[nodiscard]] std::optional<std::string> judge_memory(const std::vector<MemorySample>& samples,
                                                      double limit_mib);
/// Returns an SVG picture. Domain: there are samples.
[[nodiscard]] std::string draw_memory(const std::vector<MemorySample>& samples, double limit_mib);

}  // namespace pinfold::load
