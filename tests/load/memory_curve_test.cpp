#include "memory_curve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

/// When the load generator reports that a service needs too much memory.
namespace pinfold::load {
namespace {

using testing::HasSubstr;

/// Returns one sample per second; `mib` gives its anonymous memory, the program has `program_mib`.
std::vector<MemorySample> samples_of(
    int seconds, const std::function<double(int)>& mib,
    const std::function<double(int)>& program_mib = [](int) { return 0; }) {
  std::vector<MemorySample> samples;
  for (int i = 0; i < seconds; ++i) {
    samples.push_back({double(i), {(mib(i) + program_mib(i)) * 1024, mib(i) * 1024, 0}});
  }
  return samples;
}

TEST(MemoryCurve, GrowthInTheFirstHalfIsWarmingUp) {
  const auto samples = samples_of(40, [](int i) { return i < 20 ? 10 + i : 30; });
  EXPECT_EQ(judge_memory(samples, 64), std::nullopt);
}

TEST(MemoryCurve, NoiseIsNoGrowth) {
  const auto samples = samples_of(40, [](int i) { return i % 10 == 0 ? 25 : 20 + i * 0.04; });
  EXPECT_EQ(judge_memory(samples, 64), std::nullopt);
}

TEST(MemoryCurve, GrowthInTheSecondHalfIsTooMuch) {
  const auto samples = samples_of(40, [](int i) { return 20 + i * 0.2; });
  EXPECT_THAT(
      judge_memory(samples, 64).value_or(""),
      HasSubstr(
          "anonymous memory grows: median 25.0 MiB in the third quarter, 27.0 MiB in the last"));
}

TEST(MemoryCurve, CodeThatRunsLateIsNoGrowth) {
  const auto samples = samples_of(
      40, [](int) { return 2; }, [](int i) { return i < 30 ? 15 : 17; });
  EXPECT_EQ(judge_memory(samples, 64), std::nullopt);
}

TEST(MemoryCurve, OneSampleAboveTheLimitIsTooMuch) {
  const auto samples = samples_of(40, [](int i) { return i == 7 ? 65 : 20; });
  EXPECT_EQ(judge_memory(samples, 64), "memory: 65.0 MiB after 7 s, more than 64 MiB");
}

TEST(MemoryCurve, FewSamplesSayNothingOfGrowth) {
  EXPECT_EQ(judge_memory(samples_of(7, [](int i) { return 5.0 * i; }), 64), std::nullopt);
}

}  // namespace
}  // namespace pinfold::load
