#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "documents.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/noise/noise.hpp"

namespace pinfold::tools {

/// Returns the exclusive CPUs of a node with their owners, and the CPUs that may be interrupted.
[[nodiscard]] noise::NoiseScope exclusive_scope(const agent::NodeAgent& agent,
                                                const agent::NodeStatus& status);

/// Samples DIR/proc twice, `duration` apart. A signal (see StopSignals) ends it early.
/// Errors: those of noise::read_sample.
[[nodiscard]] Result<noise::NoiseReport> measure_noise(const std::string& root,
                                                       const noise::NoiseScope& scope,
                                                       std::chrono::milliseconds duration);

/// Returns "312 interruptions/s, 640 us/s lost, quiet score 47".
[[nodiscard]] std::string summary_of(const noise::CpuNoise& noise);

/// Returns "2: 250/s, 12 us/s lost" for each CPU.
[[nodiscard]] std::vector<std::string> interrupt_facts(const InterruptReport& report);

/// Measures interrupts from one call to the next. It reads no threads, so that it costs the same on
/// every machine.
class InterruptMeter {
 public:
  /// `root`: the directory with proc/; "": there is nothing to measure.
  explicit InterruptMeter(std::string root) : root_(std::move(root)) {}

  /// Returns the interrupts of each CPU of the scope; nullopt at the first call, or if there is
  /// nothing to measure.
  [[nodiscard]] std::optional<InterruptReport> read(const noise::NoiseScope& scope);

 private:
  std::string root_;
  std::optional<noise::NoiseSample> last_;
};

}  // namespace pinfold::tools
