#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pinfold::harness {

/// The results of one of several runs of the same scenarios, for example with different kubelets.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
struct NamedReport {
  std::string name;       ///< of its column
  nlohmann::json report;  ///< of report_json or parse_report
};

/// Returns a table with a row for each scenario on its platform and a column for each report, and
/// below it a line for each scenario that did not end as expected, with the first line of the
/// reason. "-": the report does not have the scenario.
[[nodiscard]] std::string verdict_table(const std::vector<NamedReport>& reports);

}  // namespace pinfold::harness
