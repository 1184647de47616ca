#include "pinfold/text/go_duration.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace pinfold::go {
namespace {

TEST(GoDurationParse, ReadsWhatGoReads) {
  const struct {
    const char* text;
    std::int64_t nanoseconds;
  } cases[] = {
      {"0", 0},
      {"+0", 0},
      {"100ms", 100'000'000},
      {"1.5us", 1'500},
      {"1\u00b5s", 1'000},
      {"1\u03bcs", 1'000},
      {"-1ms", -1'000'000},
      {".5s", 500'000'000},
      {"1.s", 1'000'000'000},
      {"1h2m3s", 3'723'000'000'000},
      {"3s1h", 3'603'000'000'000},
      {"0.9999999999999s", 999'999'999},
      {"9223372036854775807ns", std::numeric_limits<std::int64_t>::max()},
      {"-9223372036854775808ns", std::numeric_limits<std::int64_t>::min()},
  };
  for (const auto& c : cases) {
    const auto duration = parse_duration(c.text);
    ASSERT_TRUE(duration) << c.text << ": " << duration.error().message;
    EXPECT_EQ(*duration, c.nanoseconds) << c.text;
  }
}

TEST(GoDurationParse, RejectsWithGoText) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "time: invalid duration \"\""},
      {"-", "time: invalid duration \"-\""},
      {"ms", "time: invalid duration \"ms\""},
      {".s", "time: invalid duration \".s\""},
      {"1s x", "time: unknown unit \"s x\" in duration \"1s x\""},
      {"100", "time: missing unit in duration \"100\""},
      {"1h5", "time: missing unit in duration \"1h5\""},
      {"1d", "time: unknown unit \"d\" in duration \"1d\""},
      {"9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""},
      {"99999999999999999999s", "time: invalid duration \"99999999999999999999s\""},
      {"9223372037s", "time: invalid duration \"9223372037s\""},
  };
  for (const auto& c : cases) {
    const auto duration = parse_duration(c.text);
    ASSERT_FALSE(duration) << c.text;
    EXPECT_EQ(duration.error().message, c.message) << c.text;
  }
}

TEST(GoDurationToString, PrintsAsGo) {
  const struct {
    std::int64_t nanoseconds;
    const char* text;
  } cases[] = {
      {0, "0s"},
      {1, "1ns"},
      {999'000, "999\u00b5s"},
      {1'500, "1.5\u00b5s"},
      {-1'000'000, "-1ms"},
      {100'000'000, "100ms"},
      {1'001'000'000, "1.001s"},
      {60'000'000'000, "1m0s"},
      {3'723'500'000'000, "1h2m3.5s"},
      {std::numeric_limits<std::int64_t>::min(), "-2562047h47m16.854775808s"},
  };
  for (const auto& c : cases) EXPECT_EQ(duration_to_string(c.nanoseconds), c.text);
}

}  // namespace
}  // namespace pinfold::go
