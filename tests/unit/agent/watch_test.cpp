#include "pinfold/agent/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace pinfold::agent {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

/// Runs one round for each answer; returns the wait after each.
std::vector<milliseconds> pauses(const std::vector<bool>& answers, const WatchTimes& times) {
  std::vector<milliseconds> waited;
  std::size_t round = 0;
  const bool last = watch([&] { return answers[round++]; },
                          [&](milliseconds time) {
                            waited.push_back(time);
                            return round < answers.size();
                          },
                          times);
  EXPECT_EQ(last, answers.back());
  return waited;
}

TEST(Watch, RunsARoundAtEachInterval) {
  EXPECT_THAT(pauses({true, true, true}, {milliseconds(10), milliseconds(100)}),
              ElementsAre(milliseconds(10), milliseconds(10), milliseconds(10)));
}

TEST(Watch, BacksOffWhileRoundsFail) {
  EXPECT_THAT(pauses({false, false, false, false, false, true, false},
                     {milliseconds(10), milliseconds(100)}),
              ElementsAre(milliseconds(20), milliseconds(40), milliseconds(80), milliseconds(100),
                          milliseconds(100), milliseconds(10), milliseconds(20)));
}

TEST(Watch, NeverWaitsLessThanItsInterval) {
  EXPECT_THAT(pauses({false, false}, {milliseconds(50), milliseconds(10)}),
              ElementsAre(milliseconds(50), milliseconds(50)));
}

}  // namespace
}  // namespace pinfold::agent
