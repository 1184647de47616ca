#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "pinfold/harness/report.hpp"
#include "pinfold/harness/verdict_table.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxResults = std::size_t{1} << 30U;

/// Reads result files; each report is named after its file.
Result<std::vector<NamedReport>> read_reports(const std::vector<std::string>& files) {
  std::vector<NamedReport> reports;
  for (const std::string& file : files) {
    PINFOLD_LET(const auto text, read_file(file, kMaxResults));
    PINFOLD_LET_WRAP(auto json, parse_report(text), "'" + file + "'");
    reports.push_back({std::filesystem::path(file).stem().string(), std::move(json)});
  }
  return reports;
}

int write_to(const std::string& file, const std::string& text) {
  const auto written = write_file(file, text);
  return written ? kOk : report(written.error());
}

}  // namespace

Result<void> check_views(const ReportViews& views) {
  if (!views.html_file.empty()) PINFOLD_TRY_WRAP(check_writable(views.html_file), "--html");
  if (!views.junit_file.empty()) PINFOLD_TRY_WRAP(check_writable(views.junit_file), "--junit");
  return {};
}

int write_views(const nlohmann::json& json, const ReportViews& views) {
  int status = kOk;
  if (!views.html_file.empty()) status = write_to(views.html_file, report_html(json));
  if (status == kOk && !views.junit_file.empty()) {
    status = write_to(views.junit_file, report_junit(json));
  }
  return status;
}

int make_reports(const ReportArguments& arguments) {
  const auto& [results, views, table] = arguments;
  const bool has_views = !views.html_file.empty() || !views.junit_file.empty();
  if (!has_views && !table) {
    return report({ErrorCode::kInvalidArgument, 0, "expected --html, --junit or --table"});
  }
  if (has_views && results.size() != 1) {
    return report(
        {ErrorCode::kInvalidArgument, 0,
         fmt::format("{} files of results: --html and --junit expect one", results.size())});
  }
  const auto reports = read_reports(results);
  if (!reports) return report(reports.error());
  if (table) fmt::print("{}", verdict_table(*reports));
  return write_views(reports->front().report, views);
}

}  // namespace pinfold::harness
