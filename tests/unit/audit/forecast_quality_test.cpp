#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "forecast_series.hpp"

/// The share of random growths that are announced in time, and the rate of false alarms.
/// docs/memory-forecast.md has the bounds; each test prints its figures.
namespace pinfold::forecast {
namespace {

using enforce::NodeSet;
using test::Dice;
using test::kGiB;
using test::kInterval;
using test::kMiB;
using test::Series;
using test::SeriesGroup;

constexpr double kStep = 5;        // seconds between two samples
constexpr double kHour = 3600;     // seconds
constexpr double kLeastLead = 30;  // seconds from an alarm until the memory is used up
const NodeSet kNodeOne{1};

/// How a group grows until the memory is used up.
struct Growth {
  double fills_in = 0;  ///< seconds
  double jitter = 0;    ///< of each step
  double noise = 0;     ///< of everything else, bytes
};

/// Returns how many seconds before its end a growth is announced; negative: it is not.
double lead_of(const Growth& growth, Dice& dice) {
  const double free = dice.between(0.1, 0.9) * 16 * kGiB;
  const double step = free / growth.fills_in * kStep;
  SeriesGroup group{"default/db/main", kNodeOne, kGiB};
  Series series;
  const auto add = [&](double left) {
    series.add(10 * kGiB, left + dice.noise(growth.noise), {group});
  };
  for (int i = 0; i < 12; ++i) add(free);
  for (double left = free; left > 0;) {
    const double grown = step * dice.between(1 - growth.jitter, 1 + growth.jitter);
    left -= grown;
    group.bytes += grown;
    if (left > 0) add(left);
  }
  return series.alarms().empty() ? -1 : series.seconds() - series.alarms().front();
}

/// Returns the share of growths that are announced 30 s ahead.
double recall(double fastest, double slowest) {
  constexpr int kGrowths = 500;
  Dice dice(7);
  std::vector<double> leads;
  for (int i = 0; i < kGrowths; ++i) {
    leads.push_back(
        lead_of({dice.between(fastest, slowest), 0.5, dice.between(1, 32) * kMiB}, dice));
  }
  std::sort(leads.begin(), leads.end());
  const auto in_time =
      std::count_if(leads.begin(), leads.end(), [](double lead) { return lead >= kLeastLead; });
  const double share = static_cast<double>(in_time) / kGrowths;
  fmt::print("filled in {:.0f} to {:.0f} s: {:.1f}% announced 30 s ahead, median {:.0f} s ahead\n",
             fastest, slowest, 100 * share, leads[leads.size() / 2]);
  return share;
}

TEST(ForecastQuality, AnnouncesGrowth30SecondsAhead) {
  EXPECT_GE(recall(60, 75), 0.95);
  EXPECT_GE(recall(75, 120), 0.99);
  EXPECT_GE(recall(120, 600), 0.98);  // noise hides slow growth in little memory
}

/// Returns the number of alarms per hour. `make` returns a function from a time in seconds to the
/// available memory then.
double alarms_per_hour(const std::string& name,
                       const std::function<std::function<double(double)>(Dice&)>& make) {
  constexpr int kHours = 20;
  std::size_t alarms = 0;
  for (int hour = 0; hour < kHours; ++hour) {
    Dice dice(static_cast<std::uint64_t>(hour) + 1);
    const auto left = make(dice);
    Series series;
    for (int step = 0; step * kStep < kHour; ++step) {
      const double now = step * kStep;
      series.add(10 * kGiB, left(now), {{"default/db/main", kNodeOne, kGiB}});
    }
    alarms += series.alarms().size();
  }
  const double per_hour = static_cast<double>(alarms) / kHours;
  fmt::print("{}: {:.2f} alarms in an hour\n", name, per_hour);
  return per_hour;
}

double any_level(Dice& dice) { return dice.between(0.05, 0.9) * 16 * kGiB; }

TEST(ForecastQuality, NoiseIsNoAlarm) {
  EXPECT_EQ(alarms_per_hour("noise of 32 MiB",
                            [](Dice& dice) {
                              return [&dice, level = any_level(dice)](double) {
                                return level + dice.noise(32 * kMiB);
                              };
                            }),
            0);
  EXPECT_EQ(alarms_per_hour("200 MiB left, noise of 8 MiB",
                            [](Dice& dice) {
                              return [&dice](double) { return 200 * kMiB + dice.noise(8 * kMiB); };
                            }),
            0);
}

TEST(ForecastQuality, ARandomWalkIsNoAlarm) {
  EXPECT_LE(alarms_per_hour("random walk, 1% at each sample",
                            [](Dice& dice) {
                              const double level = any_level(dice);
                              return [&dice, level, walked = 0.0](double) mutable {
                                walked += dice.noise(level / 100);
                                walked = std::clamp(walked, -level / 2, level / 2);
                                return level + walked;
                              };
                            }),
            0.1);
}

/// Page cache: free memory drops to zero, but available memory stays.
TEST(ForecastQuality, PageCacheIsNoAlarm) {
  EXPECT_EQ(alarms_per_hour("page cache, with writes that wait",
                            [](Dice& dice) {
                              return [&dice, level = any_level(dice)](double now) {
                                const double dirty = 64 * kMiB * std::abs(std::sin(now / 20));
                                return level - dirty + dice.noise(8 * kMiB);
                              };
                            }),
            0);
}

/// Allocations of up to 60% of the available memory within 1 to 15 seconds, kept for up to a
/// minute.
TEST(ForecastQuality, AShortBurstIsNoAlarm) {
  EXPECT_LE(alarms_per_hour("bursts of up to 15 s",
                            [](Dice& dice) {
                              const double level = any_level(dice);
                              return [&dice, level, begin = 100.0, lasts = 10.0, stays = 30.0,
                                      size = level / 2](double now) mutable {
                                if (now > begin + lasts + stays) {
                                  begin = now + dice.between(100, 300);
                                  lasts = dice.between(1, 15);
                                  stays = dice.between(5, 60);
                                  size = level * dice.between(0.05, 0.6);
                                }
                                const double part = std::clamp((now - begin) / lasts, 0.0, 1.0);
                                return level - size * part + dice.noise(8 * kMiB);
                              };
                            }),
            0.1);
}

/// A garbage collector: uses half of the available memory within five minutes or more, then frees
/// it all at once.
TEST(ForecastQuality, ASlowSawtoothIsNoAlarm) {
  EXPECT_EQ(alarms_per_hour("garbage collection every 5 to 10 minutes",
                            [](Dice& dice) {
                              const double level = any_level(dice);
                              const double period = dice.between(300, 600);
                              return [&dice, level, period](double now) {
                                const double part = std::fmod(now, period) / period;
                                return level * (1 - 0.5 * part) + dice.noise(8 * kMiB);
                              };
                            }),
            0);
}

/// Cannot be distinguished from growth until it stops: documented, but not desired.
TEST(ForecastQuality, ALongBurstIsOne) {
  EXPECT_GT(alarms_per_hour("bursts of 20 to 60 s",
                            [](Dice& dice) {
                              const double level = any_level(dice);
                              return [&dice, level, begin = 100.0, lasts = 30.0,
                                      size = level / 2](double now) mutable {
                                if (now > begin + lasts + 60) {
                                  begin = now + dice.between(100, 300);
                                  lasts = dice.between(20, 60);
                                  size = level * dice.between(0.3, 0.6);
                                }
                                const double part = std::clamp((now - begin) / lasts, 0.0, 1.0);
                                return level - size * part + dice.noise(8 * kMiB);
                              };
                            }),
            1);
}

}  // namespace
}  // namespace pinfold::forecast
