#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

/// The results of a run as one JSON object; docs/harness.md describes it.
[[nodiscard]] nlohmann::json report_json(const std::vector<ScenarioResult>& results);
/// The results as JUnit XML: one test case for each scenario.
[[nodiscard]] std::string report_junit(const std::vector<ScenarioResult>& results);

/// The table of a `verify` step: what was decided, beside what the kernel has.
[[nodiscard]] std::string container_table(const std::vector<ContainerRow>& rows);

/// "1.2 s".
[[nodiscard]] std::string format_seconds(Milliseconds elapsed);

}  // namespace pinfold::harness
