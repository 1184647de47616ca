#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/harness/report.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxResults = std::size_t{1} << 30U;

int write_to(const std::string& file, const std::string& text) {
  const auto written = write_file(file, text);
  return written ? kOk : report(written.error());
}

}  // namespace

int write_views(const nlohmann::json& json, const ReportViews& views) {
  int status = kOk;
  if (!views.html_file.empty()) status = write_to(views.html_file, report_html(json));
  if (status == kOk && !views.junit_file.empty()) {
    status = write_to(views.junit_file, report_junit(json));
  }
  return status;
}

int make_reports(const ReportArguments& arguments) {
  const auto& [results, views] = arguments;
  if (views.html_file.empty() && views.junit_file.empty()) {
    return report({ErrorCode::kInvalidArgument, 0, "expected --html or --junit"});
  }
  const auto text = read_file(results, kMaxResults);
  if (!text) return report(text.error());
  const auto json = parse_report(*text);
  if (!json) return report(Error(json.error()).wrap("'" + results + "'"));
  return write_views(*json, views);
}

}  // namespace pinfold::harness
