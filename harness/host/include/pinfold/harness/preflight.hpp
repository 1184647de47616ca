#pragma once

#include <string>
#include <vector>

#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

/// Checks what several scenarios need of the host before any of them is started, and downloads what
/// is not in the cache yet: every QEMU, every kernel, every container runtime, and memory for
/// `jobs` guests at once. Returns what is missing, one sentence each, each once; empty if all of
/// them can start.
[[nodiscard]] std::vector<std::string> preflight(const std::vector<const Scenario*>& scenarios,
                                                 const RunOptions& options, int jobs);

}  // namespace pinfold::harness
