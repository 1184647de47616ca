#pragma once

#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/run_options.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

/// Runs a scenario within its time limits: in the shared guest if there is one, else in a new
/// virtual machine. Stores its own guest there if one is wanted and the scenario ended as expected.
[[nodiscard]] ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options,
                                          SharedGuest& shared);

}  // namespace pinfold::harness
