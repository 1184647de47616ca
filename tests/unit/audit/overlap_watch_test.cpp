#include "pinfold/audit/overlap_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinfold::audit {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = WatchEvent::Kind;

AuditedContainer running(const std::string& label) {
  AuditedContainer container;
  container.label = label;
  container.is_running = true;
  return container;
}

Report look_at(const std::vector<std::string>& containers, std::vector<Overlap> overlaps) {
  Report report;
  for (const std::string& label : containers) report.containers.push_back(running(label));
  report.overlaps = std::move(overlaps);
  return report;
}

TEST(OverlapWatch, MeasuresAnOverlapAfterAnAdmission) {
  OverlapWatch watch;
  EXPECT_THAT(watch.look(look_at({"old"}, {}), milliseconds(0)), IsEmpty());
  EXPECT_THAT(watch.look(look_at({"new", "old"}, {{"new", "old", CpuSet{2}}}), milliseconds(200)),
              ElementsAre(WatchEvent{Kind::kStarted, "new"},
                          WatchEvent{Kind::kOverlaps, "new", "old", CpuSet{2}, {}, "new"}));
  EXPECT_THAT(watch.look(look_at({"new", "old"}, {{"new", "old", CpuSet{3}}}), milliseconds(400)),
              IsEmpty());
  EXPECT_EQ(watch.open(), 1U);
  EXPECT_THAT(watch.look(look_at({"new", "old"}, {}), milliseconds(900)),
              ElementsAre(WatchEvent{Kind::kCleared, "new", "old", CpuSet{2, 3}, milliseconds(700),
                                     "new"}));
  EXPECT_EQ(watch.open(), 0U);
}

TEST(OverlapWatch, SaysThatAnOverlapIsOld) {
  OverlapWatch watch;
  EXPECT_THAT(watch.look(look_at({"a", "b"}, {{"a", "b", CpuSet{2}}}), milliseconds(0)),
              ElementsAre(WatchEvent{Kind::kOverlaps, "a", "b", CpuSet{2}, {}, ""}));
}

TEST(OverlapWatch, EndsWithTheContainer) {
  OverlapWatch watch;
  (void)watch.look(look_at({"a"}, {}), milliseconds(0));
  (void)watch.look(look_at({"a", "b"}, {{"a", "b", CpuSet{2}}}), milliseconds(10));
  EXPECT_THAT(watch.look(look_at({"a"}, {}), milliseconds(30)),
              ElementsAre(WatchEvent{Kind::kCleared, "a", "b", CpuSet{2}, milliseconds(20), "b"},
                          WatchEvent{Kind::kEnded, "b"}));
}

}  // namespace
}  // namespace pinfold::audit
