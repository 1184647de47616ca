#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/harness/machine_view.hpp"
#include "pinfold/harness/report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = parse_report(text);
  if (!report) {
    if (report.error().message.empty()) std::abort();
    return 0;
  }
  if (report_junit(*report).empty() || report_html(*report).empty()) std::abort();
  for (const auto& scenario : report->at("scenarios")) {
    (void)machine_table(scenario, scenario);
  }
  return 0;
}
