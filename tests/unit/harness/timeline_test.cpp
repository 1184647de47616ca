#include "pinfold/harness/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pinfold::harness {

void PrintTo(const TimelineSpan& span, std::ostream* out) {
  *out << span.group << " " << span.cpus << " " << span.from_ms << "-" << span.to_ms << " '"
       << span.overlap << "'";
}

namespace {

const std::vector<std::int64_t> kTimes = {10, 20, 35, 50};

TEST(TimelineOf, HasASpanForEachTimeWithTheSameCpus) {
  const Timeline timeline =
      timeline_of({"p\np/a 0-1\n\nq 2\nq/b 2\n\np/a 0\n\nq/b\nq\n\n", ""}, kTimes, 60, {});
  const std::vector<TimelineSpan> expected = {
      {"p/a", "0-1", "", 10, 35}, {"p/a", "0", "", 35, 60}, {"q/b", "2", "", 20, 50}};
  EXPECT_EQ(timeline.spans, expected);
  EXPECT_EQ(timeline.end_ms, 60);
  EXPECT_EQ(timeline.left_out, 0U);
}

TEST(TimelineOf, MarksExclusiveCpusOfOtherGroups) {
  const ExclusiveCpus exclusive = {{"p/a", *CpuSet::parse("0-1")}};
  const Timeline timeline =
      timeline_of({"p/a 0-1\n\nq/b 1-2\n\nq/b 2\n\n", ""}, {10, 20, 35}, 40, exclusive);
  const std::vector<TimelineSpan> expected = {
      {"p/a", "0-1", "", 10, 40}, {"q/b", "1-2", "1 of p/a", 20, 35}, {"q/b", "2", "", 35, 40}};
  EXPECT_EQ(timeline.spans, expected);
}

TEST(TimelineOf, DrawsGroupsThatAreNotJudged) {
  const ExclusiveCpus exclusive = {{"p/a", *CpuSet::parse("0-1")}};
  const auto changes = split_changes("box 0-3\nroot/p/a 0-1\n\nroot/p/a 0\n\nbox\n\n", "root");
  const Timeline timeline = timeline_of(changes, {10, 20, 35}, 40, exclusive);
  const std::vector<TimelineSpan> expected = {
      {"/box", "0-3", "", 10, 35}, {"p/a", "0-1", "", 10, 20}, {"p/a", "0", "", 20, 40}};
  EXPECT_EQ(timeline.spans, expected);
}

TEST(SplitChanges, KeepsTheStatesOfBothParts) {
  const std::string changes = "a 0\nroot 0-3\nroot/p/c 1\n\nroot/p/c\n\nrooted/x 2\n\n";
  const SplitChanges split = split_changes(changes, "root");
  EXPECT_EQ(split.below, "p/c 1\n\np/c\n\n\n");
  EXPECT_EQ(split.others, "/a 0\n/root 0-3\n\n\n/rooted/x 2\n\n");
  const SplitChanges all = split_changes(changes, "");
  EXPECT_EQ(all.below, "root/p/c 1\n\nroot/p/c\n\nrooted/x 2\n\n");
  EXPECT_EQ(all.others, "/a 0\n/root 0-3\n\n\n\n");
}

TEST(TimelineOf, LeavesOutWhatHasNoTime) {
  EXPECT_TRUE(timeline_of({"p/a 0\n\n", ""}, {}, 40, {}).spans.empty());
  EXPECT_TRUE(timeline_of({"", ""}, kTimes, 40, {}).spans.empty());
  const Timeline backwards = timeline_of({"p/a 0\n\np/a 1\n\n", ""}, {50, 10}, 5, {});
  for (const TimelineSpan& span : backwards.spans) EXPECT_LE(span.from_ms, span.to_ms);
}

TEST(TimelineOf, KeepsOverlapsAndLongTimesWithinTheLimit) {
  const ExclusiveCpus exclusive = {{"p/a", *CpuSet::parse("0")}};
  std::string changes = "p/a 0\n\n";
  std::vector<std::int64_t> times = {0};
  for (int i = 1; i <= 5000; ++i) {
    changes += i == 2500 ? "q/b 0-1\n\n" : "q/b " + std::to_string(1 + i % 2) + "\n\n";
    times.push_back(i);
  }
  const Timeline timeline = timeline_of({changes, ""}, times, 5001, exclusive);
  EXPECT_EQ(timeline.spans.size() + timeline.left_out, 5001U);
  EXPECT_EQ(timeline.spans.front(), (TimelineSpan{"p/a", "0", "", 0, 5001}));
  EXPECT_EQ(std::count_if(timeline.spans.begin(), timeline.spans.end(),
                          [](const TimelineSpan& span) { return span.overlap == "0 of p/a"; }),
            1);
}

}  // namespace
}  // namespace pinfold::harness
