#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/harness/json.hpp"
#include "pinfold/harness/report.hpp"
#include "pinfold/text/xml.hpp"

namespace pinfold::harness {
namespace {

/// Returns text for an XML element or attribute. Characters that XML forbids, and those that are
/// not ASCII, become '?'.
std::string in_xml(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n' && c != '\t') || byte >= 0x7f;
      },
      '?');
  return escape_xml(text);
}

/// Returns a text field of an object from a file, as in_xml(); "" if there is none.
std::string field(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? in_xml(found->get<std::string>()) : "";
}

/// The test cases so far, and how they ended.
struct Cases {
  std::string text;
  int tests = 0;
  int failures = 0;
  int skipped = 0;
};

/// Adds a test that a program reported. If the scenario ended as expected, a failed test does not
/// count as a failure.
void add_test(const Json& test, const std::string& scenario, bool as_expected, Cases& cases) {
  ++cases.tests;
  cases.text += fmt::format("  <testcase classname=\"{}\" name=\"{}: {}\">", scenario,
                            field(test, "program"), field(test, "name"));
  const std::string outcome = field(test, "outcome");
  if (outcome == "failed" && !as_expected) {
    ++cases.failures;
    cases.text += fmt::format("<failure type=\"failed\" message=\"{}\"/>", field(test, "note"));
  } else if (outcome != "ok") {
    ++cases.skipped;
    cases.text += fmt::format("<skipped message=\"{}{}\"/>",
                              outcome == "failed" ? "failed, as the scenario expects " : "",
                              field(test, "note"));
  }
  cases.text += "</testcase>\n";
}

void add_scenario(const Json& scenario, Cases& cases) {
  const bool ok = scenario.value("ok", false);
  const std::string name = in_xml(full_name(scenario.value("name", ""), scenario.value("on", "")));
  ++cases.tests;
  cases.text += fmt::format("  <testcase classname=\"vm\" name=\"{}\" time=\"{:.3f}\">\n", name,
                            scenario.value("elapsedMs", 0.0) / 1000);
  if (!ok) {
    ++cases.failures;
    cases.text += fmt::format("    <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                              field(scenario, "verdict"), field(scenario, "message"),
                              field(scenario, "console"));
  } else if (field(scenario, "verdict") == "skipped") {
    ++cases.skipped;
    cases.text += fmt::format("    <skipped message=\"{}\"/>\n", field(scenario, "message"));
  }
  cases.text += "  </testcase>\n";
  const auto steps = scenario.find("steps");
  if (steps == scenario.end() || !steps->is_array()) return;
  for (const Json& step : *steps) {
    if (!step.is_object()) continue;
    const auto test = step.find("test");
    if (test != step.end() && test->is_object()) add_test(*test, name, ok, cases);
  }
}

}  // namespace

std::string report_junit(const Json& report) {
  Cases cases;
  for (const Json& scenario : report.at("scenarios")) add_scenario(scenario, cases);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"pinfold-harness\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n{}"
      "</testsuite>\n",
      cases.tests, cases.failures, cases.skipped, cases.text);
}

}  // namespace pinfold::harness
