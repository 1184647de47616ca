#include "pinfold/podresources/rate_limit.hpp"

#include <gtest/gtest.h>

namespace pinfold::podresources {
namespace {

using std::chrono::milliseconds;

int taken(RateLimit& limit, RateLimit::Clock::time_point now, int attempts) {
  int count = 0;
  for (int i = 0; i < attempts; ++i) count += limit.take(now) ? 1 : 0;
  return count;
}

TEST(RateLimit, AllowsABurstAndThenTheRate) {
  RateLimit limit(milliseconds(10), 10);
  const RateLimit::Clock::time_point start{};
  EXPECT_EQ(taken(limit, start, 20), 10);
  EXPECT_EQ(taken(limit, start + milliseconds(9), 5), 0);
  EXPECT_EQ(taken(limit, start + milliseconds(10), 5), 1);
  EXPECT_EQ(taken(limit, start + milliseconds(60), 20), 5);
}

TEST(RateLimit, KeepsNoMoreThanABurst) {
  RateLimit limit(milliseconds(10), 10);
  const RateLimit::Clock::time_point start{};
  EXPECT_EQ(taken(limit, start, 3), 3);
  EXPECT_EQ(taken(limit, start + milliseconds(3'600'000), 50), 10);
}

}  // namespace
}  // namespace pinfold::podresources
