#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/harness/report.hpp"

namespace pinfold::harness {
namespace {

int write_to(const std::string& file, const std::string& text) {
  const auto written = write_file(file, text);
  return written ? kGood : report(written.error());
}

int make_reports(const std::string& results, const ReportViews& views) {
  if (views.html_file.empty() && views.junit_file.empty()) {
    return report({ErrorCode::kInvalidArgument, 0, "expected --html or --junit"});
  }
  const auto text = read_file(results);
  if (!text) return report(text.error());
  const auto json = parse_report(*text);
  if (!json) return report(Error(json.error()).wrap("'" + results + "'"));
  return write_views(*json, views);
}

}  // namespace

void add_view_options(CLI::App& command, ReportViews& views) {
  command.add_option("--html", views.html_file, "Write one HTML page with pictures to this file");
  command.add_option("--junit", views.junit_file, "Write JUnit XML to this file");
}

int write_views(const nlohmann::json& json, const ReportViews& views) {
  int status = kGood;
  if (!views.html_file.empty()) status = write_to(views.html_file, report_html(json));
  if (status == kGood && !views.junit_file.empty()) {
    status = write_to(views.junit_file, report_junit(json));
  }
  return status;
}

void add_report(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("report", "Make reports of results that were saved");
  auto results = std::make_shared<std::string>();
  auto views = std::make_shared<ReportViews>();
  command->add_option("results", *results, "The file that `run --json` wrote")->required();
  add_view_options(*command, *views);
  command->callback([=, &exit_status] { exit_status = make_reports(*results, *views); });
}

}  // namespace pinfold::harness
