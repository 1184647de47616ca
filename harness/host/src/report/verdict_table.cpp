#include "pinfold/harness/verdict_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/harness/json.hpp"
#include "pinfold/harness/platform.hpp"

namespace pinfold::harness {
namespace {

using TableRow = std::vector<std::string>;

std::string name_in(const Json& scenario) {
  return full_name(scenario.value("name", ""), scenario.value("on", ""));
}

/// Returns the scenarios of all reports, each once, in the order of their first appearance.
std::vector<std::string> scenarios_in(const std::vector<NamedReport>& reports) {
  std::vector<std::string> names;
  for (const NamedReport& one : reports) {
    for (const Json& scenario : one.report.at("scenarios")) {
      std::string name = name_in(scenario);
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

/// Returns the result of a scenario; nullptr if the report has none.
const Json* result_in(const NamedReport& one, const std::string& name) {
  for (const Json& scenario : one.report.at("scenarios")) {
    if (name_in(scenario) == name) return &scenario;
  }
  return nullptr;
}

std::string cell_of(const Json* result) {
  if (result == nullptr) return "-";
  std::string verdict = result->value("verdict", "");
  const bool plain = verdict == "passed" || verdict == "skipped" || !result->value("ok", false);
  return plain ? verdict : verdict + ", as expected";
}

std::string reason_of(const Json& result) {
  const std::string message = result.value("message", "");
  return message.substr(0, message.find('\n'));
}

std::string aligned(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const TableRow& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += fmt::format("{:<{}}", row[c], widths[c] + 2);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string verdict_table(const std::vector<NamedReport>& reports) {
  std::vector<TableRow> rows = {{"SCENARIO"}};
  for (const NamedReport& one : reports) rows.front().push_back(one.name);
  std::string reasons;
  for (const std::string& name : scenarios_in(reports)) {
    TableRow row = {name};
    for (const NamedReport& one : reports) {
      const Json* result = result_in(one, name);
      row.push_back(cell_of(result));
      if (result == nullptr || result->value("ok", false)) continue;
      reasons += fmt::format("{}, {}: {}\n", one.name, name, reason_of(*result));
    }
    rows.push_back(std::move(row));
  }
  return aligned(rows) + (reasons.empty() ? "" : "\n" + reasons);
}

}  // namespace pinfold::harness
