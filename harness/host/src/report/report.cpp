#include "pinfold/harness/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/harness/costs.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/machine_view.hpp"

namespace pinfold::harness {
namespace {

constexpr const char* kFormat = "pinfold-harness/2";

Json check_json(const CheckedValue& check) {
  return {{"what", check.what},
          {"expected", check.expected},
          {"observed", check.observed},
          {"ok", check.ok}};
}

Json row_json(const ContainerRow& row) {
  return {{"container", row.desired.name},
          {"isolation", row.desired.isolation},
          {"desired", {{"cpus", row.desired.cpus}, {"mems", row.desired.mems}}},
          {"observed",
           {{"cpuset.cpus.effective", row.observed.cpus},
            {"cpuset.mems.effective", row.observed.mems},
            {"Cpus_allowed_list", row.observed.cpus_allowed},
            {"Mems_allowed_list", row.observed.mems_allowed},
            {"pageNodes", row.observed.page_nodes}}},
          {"ok", row.ok()}};
}

Json power_cuts_json(const PowerCuts& cuts) {
  Json json = {{"cuts", cuts.cuts},
               {"failed", cuts.failed},
               {"writes", cuts.writes},
               {"flushes", cuts.flushes},
               {"disks", cuts.disks},
               {"contents", cuts.contents},
               {"elapsedMs", cuts.elapsed.count()}};
  if (!cuts.first.empty()) json["first"] = cuts.first;
  return json;
}

Json test_json(const ProgramTest& test) {
  static constexpr const char* kOutcomes[] = {"ok", "failed", "skipped"};  // in the order of Kind
  Json json = {{"program", test.program},
               {"name", test.outcome.name},
               {"outcome", kOutcomes[static_cast<int>(test.outcome.kind)]}};
  if (!test.outcome.note.empty()) json["note"] = test.outcome.note;
  return json;
}

Json timeline_json(const Timeline& timeline) {
  Json spans = Json::array();
  for (const auto& [group, cpus, overlap, from, to] : timeline.spans) {
    spans.push_back({{"group", group}, {"cpus", cpus}, {"fromMs", from}, {"toMs", to}});
    if (!overlap.empty()) spans.back()["overlap"] = overlap;
  }
  return {{"endMs", timeline.end_ms}, {"leftOut", timeline.left_out}, {"spans", std::move(spans)}};
}

Json step_json(const StepResult& step) {
  Json json = {{"title", step.title},
               {"ok", step.ok},
               {"elapsedMs", step.elapsed.count()},
               {"checks", Json::array()}};
  if (!step.online.empty()) json["online"] = step.online;
  for (const GroupCpuset& group : step.groups) {
    json["groups"].push_back({{"name", group.name}, {"cpus", group.cpus}, {"mems", group.mems}});
  }
  for (const CheckedValue& check : step.checks) json["checks"].push_back(check_json(check));
  for (const ContainerRow& row : step.rows) json["containers"].push_back(row_json(row));
  if (!step.machine.is_null()) json["machine"] = step.machine;
  if (step.timeline) json["timeline"] = timeline_json(*step.timeline);
  if (step.test) json["test"] = test_json(*step.test);
  if (step.power_cuts) json["powerCuts"] = power_cuts_json(*step.power_cuts);
  if (!step.message.empty()) json["message"] = step.message;
  return json;
}

Json scenario_json(const ScenarioResult& result) {
  Json json = {
      {"name", result.name},
      {"on", to_string(result.machine.platform)},
      {"description", result.description},
      {"file", result.file.string()},
      {"machine", {{"requested", requested_machine(result.machine)}, {"guest", result.guest}}},
      {"verdict", to_string(result.verdict)},
      {"expectedVerdict", to_string(result.expected)},
      {"ok", result.ok()},
      {"boots", result.boots},
      {"restored", result.restored},
      {"reset", result.reset},
      {"kernel", result.kernel},
      {"accelerator", result.accelerator},
      {"readyMs", result.until_ready.count()},
      {"elapsedMs", result.elapsed.count()},
      {"notes", result.notes},
      {"steps", Json::array()}};
  for (const StepResult& step : result.steps) json["steps"].push_back(step_json(step));
  if (!result.because.empty()) json["expectedBecause"] = result.because;
  if (!result.message.empty()) json["message"] = result.message;
  if (!result.console.empty()) json["console"] = result.console;
  return json;
}

/// A field of a scenario in a report; required unless `optional`.
struct ReportField {
  const char* name;
  bool (Json::*is)() const noexcept;
  const char* expected;
  bool optional = false;
};
constexpr ReportField kFields[] = {
    {"name", &Json::is_string, "a string"},
    {"on", &Json::is_string, "a string"},
    {"verdict", &Json::is_string, "a string"},
    {"ok", &Json::is_boolean, "true or false"},
    {"elapsedMs", &Json::is_number, "a number"},
    {"message", &Json::is_string, "a string", true},
    {"console", &Json::is_string, "a string", true},
};

}  // namespace

Json report_json(const std::vector<ScenarioResult>& results) {
  Json json = {{"format", kFormat}, {"scenarios", Json::array()}};
  bool ok = true;
  for (const ScenarioResult& result : results) {
    json["scenarios"].push_back(scenario_json(result));
    ok = ok && result.ok();
  }
  json["ok"] = ok;
  json["costs"] = costs_json(results);
  return json;
}

Result<Json> parse_report(std::string_view text) {
  const auto refuse = [](const std::string& message) {
    return fail(ErrorCode::kInvalidArgument, message);
  };
  Json report = Json::parse(text, nullptr, false);
  if (!report.is_object()) return refuse("expected a JSON object");
  if (report.value("format", Json()) != kFormat) {
    return refuse(fmt::format("format: expected '{}'", kFormat));
  }
  if (!report.contains("scenarios") || !report["scenarios"].is_array()) {
    return refuse("scenarios: expected a list");
  }
  for (std::size_t i = 0; i < report["scenarios"].size(); ++i) {
    const Json& scenario = report["scenarios"][i];
    if (!scenario.is_object()) return refuse(fmt::format("scenarios[{}]: expected an object", i));
    for (const ReportField& field : kFields) {
      const auto found = scenario.find(field.name);
      if (found == scenario.end() ? field.optional : ((*found).*field.is)()) continue;
      return refuse(fmt::format("scenarios[{}].{}: expected {}", i, field.name, field.expected));
    }
  }
  return report;
}

}  // namespace pinfold::harness
