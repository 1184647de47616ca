#pragma once

#include <string>
#include <vector>

#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

/// The problems of a host with scenarios, one sentence each.
struct Preflight {
  /// Those that stop every scenario, without duplicates; empty if at least one can start.
  std::vector<std::string> problems;
  /// For each scenario the first of those that stop it alone; "": it can start.
  std::vector<std::string> of_scenarios;
};

/// Checks everything that several scenarios need from the host before any of them starts, and
/// downloads everything missing from the cache: every QEMU, every kernel, every container runtime,
/// and memory for `jobs` guests at once. What only some scenarios need stops only these.
[[nodiscard]] Preflight preflight(const std::vector<const Scenario*>& scenarios,
                                  const RunOptions& options, int jobs);

}  // namespace pinfold::harness
