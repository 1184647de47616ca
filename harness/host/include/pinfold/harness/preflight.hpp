#pragma once

#include <string>
#include <vector>

#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

/// Checks everything that several scenarios need from the host before any of them starts, and
/// downloads everything missing from the cache: every QEMU, every kernel, every container runtime,
/// and memory for `jobs` guests at once. Returns the problems, one sentence each, without
/// duplicates; empty if all scenarios can start.
[[nodiscard]] std::vector<std::string> preflight(const std::vector<const Scenario*>& scenarios,
                                                 const RunOptions& options, int jobs);

}  // namespace pinfold::harness
