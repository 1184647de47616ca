#pragma once

#include <chrono>
#include <string>

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

}  // namespace pinfold::tools
