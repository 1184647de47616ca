#pragma once

#include <cstddef>
#include <optional>

#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/run_options.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

/// Resets the shared guest, or restores or boots the machine of a scenario; fills in `result`.
/// Returns nullopt on failure; result.verdict then has the reason.
[[nodiscard]] std::optional<GuestSession> open_session(const Scenario& scenario,
                                                       const RunOptions& options,
                                                       SharedGuest& shared, ScenarioResult& result);

/// Opens the machine of a scenario after the steps before number `step`. Their state is saved, so
/// that they need not run again the next time, unless one of them plugs hardware in.
/// Domain: 1 <= step <= number of steps.
[[nodiscard]] std::optional<GuestSession> open_session_at(const Scenario& scenario,
                                                          std::size_t step,
                                                          const RunOptions& options,
                                                          ScenarioResult& result);

}  // namespace pinfold::harness
