#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "pinfold/harness/judge.hpp"
#include "pinfold/harness/timeline.hpp"

namespace {

std::size_t states_in(const std::string& changes) {
  std::istringstream lines(changes);
  std::size_t states = 0;
  for (std::string line; std::getline(lines, line);) states += line.empty() ? 1 : 0;
  return states;
}

}  // namespace

/// The exclusive CPUs of the program under test, a line "-", then the guest sampler's changes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find("-\n");
  const std::string changes = end == std::string::npos ? "" : text.substr(end + 2);
  const auto exclusive = parse_exclusive(text.substr(0, end));
  if (!exclusive) {
    if (exclusive.error().message.empty()) std::abort();
    return 0;
  }
  const auto overlaps = overlaps_seen(changes, *exclusive);
  if (exclusive->empty() && !overlaps.empty()) std::abort();
  // The picture shows an overlap if and only if there is one.
  std::vector<std::int64_t> times(changes.size() + 1);
  std::iota(times.begin(), times.end(), 0);
  const auto end_ms = static_cast<std::int64_t>(times.size());
  const auto timeline = timeline_of({changes, ""}, times, end_ms, *exclusive);
  const bool drawn = std::any_of(timeline.spans.begin(), timeline.spans.end(),
                                 [](const TimelineSpan& span) { return !span.overlap.empty(); });
  if (drawn == overlaps.empty()) std::abort();
  // Both parts of the changes have all states.
  const SplitChanges split = split_changes(changes, "podA");
  if (states_in(split.below) != states_in(split.others)) std::abort();
  (void)timeline_of(split, times, end_ms, *exclusive);
  return 0;
}
