#include "pinfold/forecast/forecast.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "forecast_series.hpp"

namespace pinfold::forecast {
namespace {

using enforce::NodeSet;
using test::kGiB;
using test::kInterval;
using test::kMiB;
using test::Series;
using test::SeriesGroup;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const NodeSet kOne{1};
const NodeSet kBoth{0, 1};

/// Samples of a group that grows by `per_second` bytes each second until NUMA node 1 has `left`
/// bytes available. NUMA node 0 has 10 GiB.
std::vector<Forecast> grow(double per_second, double left, SeriesGroup group,
                           const std::vector<SeriesGroup>& others = {}) {
  constexpr int kSteps = 8;
  const double step = per_second * static_cast<double>(kInterval.count());
  const double end = group.bytes;
  Series series;
  std::vector<Forecast> last;
  for (int i = kSteps; i >= 0; --i) {
    group.bytes = end - i * step;
    std::vector<SeriesGroup> groups = others;
    groups.push_back(group);
    last = series.add(10 * kGiB, left + i * step, groups);
  }
  return last;
}

TEST(Forecast, OfAGroupThatIsBoundToANumaNode) {
  const auto forecasts = grow(120 * kMiB, 40 * 120 * kMiB, {"default/db/main", kOne, 8 * kGiB});
  ASSERT_EQ(forecasts.size(), 1U);
  const Forecast& one = forecasts.front();
  EXPECT_EQ(one.kind, Forecast::Kind::kNumaNodes);
  EXPECT_EQ(one.numa_nodes, kOne);
  EXPECT_NEAR(one.in.count(), 40, 0.1);
  EXPECT_THAT(one.bound, ElementsAre("default/db/main"));
  EXPECT_EQ(to_string(one),
            "NUMA 1 is out of memory in about 40 s: default/db/main grows by 120Mi/s and is "
            "bound to it");
}

TEST(Forecast, SaysIfTheGroupAlreadyWaits) {
  SeriesGroup group{"default/db/main", kOne, 8 * kGiB};
  group.stalled = 0.12;
  const auto forecasts = grow(120 * kMiB, 40 * 120 * kMiB, group);
  ASSERT_EQ(forecasts.size(), 1U);
  EXPECT_THAT(to_string(forecasts.front()), HasSubstr("(it waits for memory 12% of the time)"));
}

TEST(Forecast, NothingRunsOutIfTheGroupGoesOnElsewhere) {
  EXPECT_THAT(grow(120 * kMiB, 2 * kGiB, {"default/db/main", kBoth, 8 * kGiB}),
              testing::Each(testing::Field(&Forecast::numa_nodes, kBoth)));
  // The memory of both NUMA nodes lasts 102 s, that of NUMA node 1 alone 17 s.
  const auto all = grow(120 * kMiB, 2 * kGiB, {"default/db/main", kBoth, 8 * kGiB});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_NEAR(all.front().in.count(), 12 * 1024 / 120.0, 1);
  EXPECT_THAT(to_string(all.front()),
              testing::StartsWith("NUMA 0-1 are out of memory in about 100 s: default/db/main "
                                  "grows by 120Mi/s"));
  EXPECT_THAT(grow(10 * kMiB, kGiB, {"default/db/main", kBoth, 8 * kGiB}), IsEmpty());
}

TEST(Forecast, NamesTheOneWhoIsHitByAnother) {
  const auto forecasts = grow(120 * kMiB, 20 * 120 * kMiB, {"default/db/main", kBoth, 8 * kGiB},
                              {{"shop/web/app", kOne, kGiB}});
  ASSERT_FALSE(forecasts.empty());
  EXPECT_EQ(to_string(forecasts.front()),
            "NUMA 1 is out of memory in about 20 s: default/db/main grows by 120Mi/s; bound to "
            "it: shop/web/app");
}

TEST(Forecast, ALimitThatIsReachedFirstIsAnotherSentence) {
  SeriesGroup group{"default/db/main", kOne, 8 * kGiB};
  group.limit = static_cast<std::uint64_t>(8 * kGiB + 20 * 120 * kMiB);
  const auto forecasts = grow(120 * kMiB, 40 * 120 * kMiB, group);
  ASSERT_EQ(forecasts.size(), 1U) << "the NUMA node has enough for what it may get";
  EXPECT_EQ(forecasts.front().kind, Forecast::Kind::kLimit);
  EXPECT_NEAR(forecasts.front().in.count(), 20, 0.1);
  EXPECT_EQ(to_string(forecasts.front()),
            "default/db/main reaches its memory limit of 10Gi in about 20 s: it grows by "
            "120Mi/s");
}

TEST(Forecast, ALaterLimitSavesNobody) {
  SeriesGroup group{"default/db/main", kOne, 8 * kGiB};
  group.limit = static_cast<std::uint64_t>(20 * kGiB);
  const auto forecasts = grow(120 * kMiB, 40 * 120 * kMiB, group);
  ASSERT_EQ(forecasts.size(), 1U);
  EXPECT_EQ(forecasts.front().kind, Forecast::Kind::kNumaNodes);
}

TEST(Forecast, WhatGrowsNextToALimitedGroupUsesTheRest) {
  // Both grow by 60Mi/s. One stops after 20 s; the other uses up the rest in another 20 s.
  Series series;
  std::vector<Forecast> last;
  const double step = 60 * kMiB * 5;
  for (int i = 8; i >= 0; --i) {
    SeriesGroup limited{"a", kOne, 2 * kGiB - i * step};
    limited.limit = static_cast<std::uint64_t>(2 * kGiB + 20 * 60 * kMiB);
    const SeriesGroup other{"b", kOne, 2 * kGiB - i * step};
    last = series.add(10 * kGiB, 60 * 60 * kMiB + 2 * i * step, {limited, other});
  }
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[0].kind, Forecast::Kind::kLimit);
  EXPECT_EQ(last[0].group, "a");
  EXPECT_EQ(last[1].kind, Forecast::Kind::kNumaNodes);
  EXPECT_NEAR(last[1].in.count(), 40, 0.5);
}

TEST(Forecast, TheLimitOfAPodComesWithThatOfItsContainer) {
  SeriesGroup group{"default/db/main", kOne, 8 * kGiB};
  group.limit = static_cast<std::uint64_t>(8 * kGiB + 20 * 120 * kMiB);
  group.directory = "/pod1/c";
  SeriesGroup pod = group;
  pod.label = "default/db";
  pod.directory = "/pod1";
  pod.is_inner = true;
  Series series;
  std::vector<Forecast> last;
  for (int i = 8; i >= 0; --i) {
    const double step = i * 600 * kMiB;
    group.bytes = pod.bytes = 8 * kGiB - step;
    last = series.add(10 * kGiB, 40 * 120 * kMiB + step, {pod, group});
  }
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last.front().group, "default/db/main");
}

TEST(Forecast, WithoutGroupsEachNumaNodeCounts) {
  Series series;
  std::vector<Forecast> last;
  for (int i = 8; i >= 0; --i) last = series.add(10 * kGiB, 4 * kGiB + i * 500 * kMiB);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last.front().numa_nodes, kOne);
  EXPECT_EQ(to_string(last.front()),
            "NUMA 1 is out of memory in about 40 s: it loses 100Mi/s, and no known control group "
            "grows that fast");
}

TEST(Forecast, WhatIsFarAwayIsNone) {
  EXPECT_THAT(grow(10 * kMiB, 8 * kGiB, {"a", kOne, 8 * kGiB}), IsEmpty());
}

TEST(Forecast, NeedsFiveSamples) {
  Series series;
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(series.add(10 * kGiB, 4 * kGiB - i * 600 * kMiB), IsEmpty()) << i;
  }
  EXPECT_EQ(series.add(10 * kGiB, 4 * kGiB - 4 * 600 * kMiB).size(), 1U);
}

TEST(Forecast, OfNoSamplesIsNone) {
  EXPECT_THAT(forecast({}), IsEmpty());
  EXPECT_FALSE(is_falling({}));
}

TEST(Episodes, ASentenceIsSaidOnceAndItsEndOnce) {
  Series series;
  double left = 10 * kGiB;
  for (int i = 0; i < 10; ++i) series.add(10 * kGiB, left);
  for (int i = 0; i < 12; ++i) series.add(10 * kGiB, left -= 600 * kMiB);
  ASSERT_EQ(series.news().size(), 1U) << "it is said once, not at each sample";
  EXPECT_TRUE(series.news().front().begins);
  EXPECT_THAT(series.news().front().text, testing::StartsWith("NUMA 1 is out of memory in about"));
  for (int i = 0; i < 12; ++i) series.add(10 * kGiB, left);
  ASSERT_EQ(series.news().size(), 2U);
  EXPECT_EQ(series.news().back(), (EpisodeNews{false, "NUMA 1 no longer runs out of memory"}));
}

TEST(Episodes, ASingleForecastIsNoAlarm) {
  Episodes episodes;
  Forecast one{Forecast::Kind::kNumaNodes, kOne};
  one.in = Seconds(60);
  EXPECT_THAT(episodes.look({one}, std::chrono::seconds(10)), IsEmpty());
  EXPECT_THAT(episodes.look({}, std::chrono::seconds(15)), IsEmpty());
  EXPECT_THAT(episodes.look({one}, std::chrono::seconds(20)), IsEmpty()) << "begins again";
  EXPECT_EQ(episodes.look({one}, std::chrono::seconds(25)).size(), 1U);
}

TEST(Episodes, AnAlarmSurvivesAShortPause) {
  Episodes episodes;
  Forecast one{Forecast::Kind::kLimit};
  one.group = "default/db/main";
  one.in = Seconds(60);
  EXPECT_THAT(episodes.look({one}, std::chrono::seconds(10)), IsEmpty());
  EXPECT_EQ(episodes.look({one}, std::chrono::seconds(15)).size(), 1U);
  EXPECT_THAT(episodes.look({}, std::chrono::seconds(35)), IsEmpty());
  one.in = 1.5 * kAlarm;  // below twice the alarm the episode continues
  EXPECT_THAT(episodes.look({one}, std::chrono::seconds(40)), IsEmpty());
  EXPECT_THAT(episodes.look({}, std::chrono::seconds(65)), IsEmpty());
  const auto news = episodes.look({}, std::chrono::seconds(70));
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news.front().text, "default/db/main no longer reaches its memory limit");
}

}  // namespace
}  // namespace pinfold::forecast
