#include "pinfold/harness/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace pinfold::harness {
namespace {

using Json = nlohmann::json;

Json check_json(const Check& check) {
  return {{"what", check.what},
          {"expected", check.expected},
          {"actual", check.actual},
          {"good", check.good}};
}

Json row_json(const ContainerRow& row) {
  return {{"container", row.decided.name},
          {"isolation", row.decided.isolation},
          {"decided", {{"cpus", row.decided.cpus}, {"mems", row.decided.mems}}},
          {"kernel",
           {{"cpuset.cpus.effective", row.kernel.cpus},
            {"cpuset.mems.effective", row.kernel.mems},
            {"Cpus_allowed_list", row.kernel.cpus_allowed},
            {"Mems_allowed_list", row.kernel.mems_allowed},
            {"pageNodes", row.kernel.page_nodes}}},
          {"good", row.good()}};
}

Json step_json(const StepResult& step) {
  Json json = {{"title", step.title},
               {"good", step.good},
               {"elapsedMs", step.elapsed.count()},
               {"checks", Json::array()}};
  for (const Check& check : step.checks) json["checks"].push_back(check_json(check));
  for (const ContainerRow& row : step.rows) json["containers"].push_back(row_json(row));
  if (!step.message.empty()) json["message"] = step.message;
  return json;
}

Json scenario_json(const ScenarioResult& result) {
  Json json = {{"name", result.name},
               {"file", result.file.string()},
               {"verdict", to_string(result.verdict)},
               {"expectedVerdict", to_string(result.expected)},
               {"good", result.good()},
               {"boots", result.boots},
               {"restored", result.restored},
               {"kernel", result.kernel},
               {"accelerator", result.accelerator},
               {"readyMs", result.until_ready.count()},
               {"elapsedMs", result.elapsed.count()},
               {"notes", result.notes},
               {"steps", Json::array()}};
  for (const StepResult& step : result.steps) json["steps"].push_back(step_json(step));
  if (!result.message.empty()) json["message"] = result.message;
  if (!result.console.empty()) json["console"] = result.console;
  return json;
}

/// Text of an XML element or attribute; characters that XML forbids become '?'.
std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte >= 0x7f) {
      escaped += '?';
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string shown(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

std::string format_seconds(Milliseconds elapsed) {
  return fmt::format("{:.1f} s", static_cast<double>(elapsed.count()) / 1000);
}

Json report_json(const std::vector<ScenarioResult>& results) {
  Json json = {{"format", "pinfold-harness/1"}, {"scenarios", Json::array()}};
  bool good = true;
  for (const ScenarioResult& result : results) {
    json["scenarios"].push_back(scenario_json(result));
    good = good && result.good();
  }
  json["good"] = good;
  return json;
}

std::string report_junit(const std::vector<ScenarioResult>& results) {
  const auto failures =
      std::count_if(results.begin(), results.end(), [](const auto& one) { return !one.good(); });
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"pinfold-harness\" tests=\"{}\" failures=\"{}\">\n",
      results.size(), failures);
  for (const ScenarioResult& result : results) {
    xml += fmt::format("  <testcase classname=\"vm\" name=\"{}\" time=\"{:.3f}\">\n",
                       escape_xml(result.name), static_cast<double>(result.elapsed.count()) / 1000);
    if (!result.good()) {
      xml += fmt::format("    <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                         to_string(result.verdict), escape_xml(result.message),
                         escape_xml(result.console));
    }
    xml += "  </testcase>\n";
  }
  return xml + "</testsuite>\n";
}

std::string container_table(const std::vector<ContainerRow>& rows) {
  constexpr std::size_t kColumns = 9;
  using Line = std::array<std::string, kColumns>;
  std::vector<Line> lines = {
      {"", "", "decided", "", "kernel: cpuset.*.effective", "", "process", "pages on", ""},
      {"container", "isolation", "cpus", "mems", "cpus", "mems", "Cpus_allowed_list", "nodes",
       "verdict"}};
  for (const ContainerRow& row : rows) {
    std::string verdict = "ok";
    for (const Check& check : row.checks) {
      if (!check.good) verdict = "WRONG";
    }
    lines.push_back({row.decided.name, row.decided.isolation, row.decided.cpus,
                     row.decided.mems.empty() ? "(any)" : row.decided.mems, shown(row.kernel.cpus),
                     shown(row.kernel.mems), shown(row.kernel.cpus_allowed),
                     shown(row.kernel.page_nodes), verdict});
  }
  std::array<std::size_t, kColumns> widths{};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], lines[i][c].size());
  }
  // The title over two columns may be wider than both.
  widths[5] = std::max(widths[5], lines[0][4].size() - std::min(lines[0][4].size(), widths[4] + 2));
  widths[7] = std::max(widths[7], lines[0][7].size());
  std::string table;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string text;
    std::size_t column = 0;
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (text.size() < column) text.resize(column, ' ');
      text += lines[i][c];
      column += widths[c] + 2;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    table += text + "\n";
  }
  return table;
}

}  // namespace pinfold::harness
