#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "container_runs.hpp"
#include "pinfold/harness/witness.hpp"
#include "recorded_switches.hpp"
#include "switch_trace.hpp"

/// The page of a ring buffer of tracefs, with the formats of a kernel, or (first byte: 'f') a
/// format. The record that the guest makes of it is always one that the host can read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('f')) {
    (void)guest::parse_trace_format(input.substr(1));
    return 0;
  }
  guest::TraceFormats formats;
  std::transform(std::begin(test::kRecordedFormats), std::end(test::kRecordedFormats),
                 formats.begin(), guest::parse_trace_format);
  guest::DecodedPage page = guest::decode_page(formats, 0, input);
  std::stable_sort(page.events.begin(), page.events.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  guest::ContainerRuns runs("/kubepods", 0, [](int) { return std::optional<std::string>(); });
  runs.know({18521, 18521, "/kubepods/podA/d", "/bin/app"});
  int marks = 0;
  for (guest::TaskEvent& event : page.events) {
    if (event.time < 0) return 0;  // in 292 years
    if (event.kind == guest::TaskEventKind::kMark) event.task = marks++;
    runs.add(event);
  }
  runs.finish(0);
  if (!harness::parse_witness(runs.text())) std::abort();
  return 0;
}
