#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/harness/json.hpp"
#include "pinfold/harness/report.hpp"

namespace pinfold::harness {
namespace {

/// Escapes text for an XML element or attribute; characters that XML forbids become '?'.
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

}  // namespace

std::string report_junit(const Json& report) {
  int failures = 0;
  std::string cases;
  for (const Json& scenario : report.at("scenarios")) {
    cases +=
        fmt::format("  <testcase classname=\"vm\" name=\"{}\" time=\"{:.3f}\">\n",
                    escape_xml(full_name(scenario.value("name", ""), scenario.value("on", ""))),
                    scenario.value("elapsedMs", 0.0) / 1000);
    if (!scenario.value("ok", false)) {
      ++failures;
      cases += fmt::format("    <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                           escape_xml(scenario.value("verdict", "")),
                           escape_xml(scenario.value("message", "")),
                           escape_xml(scenario.value("console", "")));
    }
    cases += "  </testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"pinfold-harness\" tests=\"{}\" failures=\"{}\">\n{}</testsuite>\n",
      report.at("scenarios").size(), failures, cases);
}

}  // namespace pinfold::harness
