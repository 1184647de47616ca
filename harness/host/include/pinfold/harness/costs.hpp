#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pinfold/harness/process.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

/// Returns where the time of a run went, for all scenarios together:
///   {"boots": {"count": 2, "elapsedMs": 31000}, "restores": {...}, "resets": {...},
///    "steps": {...}, "otherMs": 1200, "longest": [{"what": "boot", "scenario": NAME, "elapsedMs":
///    20000}, ...]}
/// `what`: "boot", "restore", "reset" or "step 3 (exec: true)"; the ten longest, longest first.
/// `otherMs`: the time that scenarios took after their last step.
[[nodiscard]] nlohmann::json costs_json(const std::vector<ScenarioResult>& results);

/// Returns "1.2 s".
[[nodiscard]] std::string format_seconds(Milliseconds elapsed);

/// Formats costs as lines of text, with at most `most` of the longest. Domain: a result of
/// costs_json.
[[nodiscard]] std::string costs_text(const nlohmann::json& costs, std::size_t most);

}  // namespace pinfold::harness
