#include "pinfold/kube/backoff.hpp"

#include <gtest/gtest.h>

namespace pinfold::kube {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheLongestWaitWithJitter) {
  Backoff backoff(milliseconds(500), milliseconds(4'000), 7);
  for (const int most : {500, 1'000, 2'000, 4'000, 4'000}) {
    const auto wait = backoff.next();
    EXPECT_GE(wait, milliseconds(most / 2));
    EXPECT_LE(wait, milliseconds(most));
  }
  EXPECT_EQ(backoff.failures(), 5);
}

TEST(Backoff, BeginsAgainAfterReset) {
  Backoff backoff(milliseconds(500), milliseconds(4'000), 7);
  for (int i = 0; i < 100; ++i) (void)backoff.next();
  backoff.reset();
  EXPECT_EQ(backoff.failures(), 0);
  EXPECT_LE(backoff.next(), milliseconds(500));
}

TEST(Backoff, SeedsDiffer) {
  Backoff one(milliseconds(30'000), milliseconds(30'000), 1);
  Backoff other(milliseconds(30'000), milliseconds(30'000), 2);
  EXPECT_NE(one.next(), other.next());
}

}  // namespace
}  // namespace pinfold::kube
