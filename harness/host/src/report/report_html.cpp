#include <map>
#include <nlohmann/json.hpp>

#include "page.hpp"
#include "pinfold/harness/report.hpp"

namespace pinfold::harness {
namespace {

/// Returns JSON that is safe inside a <script> element: ASCII, without markup characters.
std::string json_in_html(const nlohmann::json& json) {
  std::string safe;
  for (const char c : json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&') {
      safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string report_html(const nlohmann::json& report) {
  const std::map<std::string_view, std::string> parts = {{"{{style}}", kPageStyle},
                                                         {"{{results}}", json_in_html(report)},
                                                         {"{{script}}", kPageScript}};
  std::string page;
  std::string_view rest = kPage;
  // A single pass: inserted text is not scanned again.
  for (std::size_t at = 0; (at = rest.find("{{")) != std::string_view::npos;) {
    const std::size_t end = rest.find("}}", at) + 2;
    page.append(rest.substr(0, at)).append(parts.at(rest.substr(at, end - at)));
    rest.remove_prefix(end);
  }
  return page.append(rest);
}

}  // namespace pinfold::harness
