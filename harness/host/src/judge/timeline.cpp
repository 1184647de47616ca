#include "pinfold/harness/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

namespace pinfold::harness {
namespace {

/// The maximum that a report can show.
constexpr std::size_t kMaxSpans = 2000;

/// A group in one state: its CPUs, and those of them that are exclusive to another group.
using Row = std::pair<std::string, std::string>;

std::map<std::string, Row> rows_of(const std::map<std::string, CpuSet>& state,
                                   const ExclusiveCpus& exclusive) {
  std::map<std::string, Row> rows;
  for (const auto& [group, cpus] : state) rows[group] = {cpus.to_string(), ""};
  for (const GroupOverlap& overlap : overlaps_in(state, exclusive)) {
    std::string& text = rows[overlap.group].second;
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", overlap.cpus, overlap.owner);
  }
  return rows;
}

/// Reads one state of the groups that are only drawn. Returns false at the end.
bool read_others(std::istream& changes, std::map<std::string, Row>& others) {
  for (std::string line; std::getline(changes, line);) {
    if (line.empty()) return true;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string cpus = blank == line.size() ? "" : line.substr(blank + 1);
    if (cpus.empty()) {
      others.erase(line.substr(0, blank));
    } else {
      others[line.substr(0, blank)] = {cpus, ""};
    }
  }
  return false;
}

/// Omits the spans that are hardest to see.
void limit(Timeline& timeline) {
  auto& spans = timeline.spans;
  if (spans.size() <= kMaxSpans) return;
  timeline.left_out = spans.size() - kMaxSpans;
  std::stable_sort(spans.begin(), spans.end(), [](const TimelineSpan& a, const TimelineSpan& b) {
    return std::tuple(a.overlap.empty(), a.from_ms - a.to_ms) <
           std::tuple(b.overlap.empty(), b.from_ms - b.to_ms);
  });
  spans.resize(kMaxSpans);
}

}  // namespace

Timeline timeline_of(const SplitChanges& changes, const std::vector<std::int64_t>& times_ms,
                     std::int64_t end_ms, const ExclusiveCpus& exclusive) {
  Timeline timeline;
  timeline.end_ms = end_ms;
  std::map<std::string, TimelineSpan> open;
  const auto close = [&](TimelineSpan span, std::int64_t at) {
    span.to_ms = std::max(span.from_ms, at);
    timeline.spans.push_back(std::move(span));
  };
  std::map<std::string, CpuSet> state;
  std::map<std::string, Row> others;
  std::istringstream lines(changes.below);
  std::istringstream lines_of_others(changes.others);
  for (std::size_t i = 0; i < times_ms.size() && read_state(lines, state); ++i) {
    auto rows = rows_of(state, exclusive);
    (void)read_others(lines_of_others, others);
    rows.insert(others.begin(), others.end());
    for (auto it = open.begin(); it != open.end();) {
      const auto row = rows.find(it->first);
      const bool goes_on =
          row != rows.end() && row->second == Row(it->second.cpus, it->second.overlap);
      if (!goes_on) close(std::move(it->second), times_ms[i]);
      it = goes_on ? std::next(it) : open.erase(it);
    }
    for (const auto& [group, row] : rows) {
      open.try_emplace(group, TimelineSpan{group, row.first, row.second, times_ms[i], times_ms[i]});
    }
  }
  for (auto& [group, span] : open) close(std::move(span), end_ms);
  limit(timeline);
  std::sort(timeline.spans.begin(), timeline.spans.end(),
            [](const TimelineSpan& a, const TimelineSpan& b) {
              return std::tie(a.group, a.from_ms) < std::tie(b.group, b.from_ms);
            });
  return timeline;
}

}  // namespace pinfold::harness
