#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

/// Returns the results of a run as one JSON object; docs/harness.md describes it. The other reports
/// are generated from it.
[[nodiscard]] nlohmann::json report_json(const std::vector<ScenarioResult>& results);
/// Parses the output of report_json.
/// Errors: kInvalidArgument, "scenarios[2].name: expected a string".
[[nodiscard]] Result<nlohmann::json> parse_report(std::string_view text);

/// Returns JUnit XML: a test case for each scenario and for each test that a program in it
/// reported.
/// Domain here and below: a result of report_json or parse_report.
[[nodiscard]] std::string report_junit(const nlohmann::json& report);
/// Returns a self-contained HTML page: pictures of the machines, tables, consoles.
[[nodiscard]] std::string report_html(const nlohmann::json& report);

}  // namespace pinfold::harness
