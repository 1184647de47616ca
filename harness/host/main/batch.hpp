#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "command.hpp"

namespace pinfold::harness {

/// Runs scenarios, up to --jobs in parallel, and prints each result when its scenario ends.
/// `on_result` is called for each, by one thread at a time. Returns the results of those that ran,
/// in order; all of them, unless the user interrupted.
[[nodiscard]] std::vector<ScenarioResult> run_batch(
    const RunArguments& arguments, const RunOptions& options,
    const std::vector<FoundScenario>& scenarios,
    const std::function<void(const ScenarioResult&)>& on_result);

/// Returns true if the user has interrupted a batch of `count` scenarios.
[[nodiscard]] bool was_interrupted(const std::vector<ScenarioResult>& results, std::size_t count);

/// Checks the host for the scenarios. Returns false if none of them can start, and says why; sets
/// the problems of those that cannot, if others can.
[[nodiscard]] bool can_start(std::vector<FoundScenario>& found, const RunOptions& options,
                             int jobs);

}  // namespace pinfold::harness
