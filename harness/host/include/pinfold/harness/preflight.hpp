#pragma once

#include <string>
#include <vector>

#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

/// The problems of a host with scenarios, one sentence each.
struct Preflight {
  /// Those that stop every scenario, without duplicates; empty if at least one can start.
  std::vector<std::string> problems;
  /// For each scenario the first problem that is specific to it; "": it can start.
  std::vector<std::string> of_scenarios;
};

/// Checks before any of the scenarios starts that the host has everything that they need: every
/// QEMU, kernel and container runtime, and memory for `jobs` guests at once. Downloads what the
/// cache does not have. A problem with only some scenarios stops only these.
[[nodiscard]] Preflight preflight(const std::vector<const Scenario*>& scenarios,
                                  const RunOptions& options, int jobs);

}  // namespace pinfold::harness
