#pragma once

#include <string>

#include "pinfold/audit/findings.hpp"
#include "pinfold/audit/observed.hpp"
#include "pinfold/noise/noise.hpp"

namespace pinfold::tools {

/// Returns the exclusive CPUs of an audited node with the groups of the containers that have them,
/// and the CPUs that may be interrupted.
[[nodiscard]] noise::NoiseScope audited_scope(const audit::Report& report,
                                              const audit::Observed& observed);

/// Returns a line for each CPU: "CPU 2  312 interruptions/s, 640 us/s lost, quiet score 47".
[[nodiscard]] std::string noise_lines(const noise::NoiseReport& report);

}  // namespace pinfold::tools
