#include "pinfold/agent/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <vector>

#include "temp_dir.hpp"

namespace pinfold::agent {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

/// Runs one round per answer; returns the pause after each round.
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

bool has_changed(const UniqueFd& watched) {
  pollfd entry{watched.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

TEST(WatchTree, NoticesWhatHappensBelowADirectory) {
  const test::TempDir dir;
  dir.write("pod1/c/cpuset.cpus", "1");
  {
    const UniqueFd watched = watch_tree(dir.path());
    EXPECT_FALSE(has_changed(watched));
    dir.write("pod1/c/cpuset.cpus", "2");
    EXPECT_TRUE(has_changed(watched));
  }
  const UniqueFd watched = watch_tree(dir.path());
  EXPECT_FALSE(has_changed(watched)) << "a change before the call counts";
  dir.remove("pod1/c");
  EXPECT_TRUE(has_changed(watched));
}

TEST(WatchTree, OfNothingNoticesNothing) {
  EXPECT_FALSE(has_changed(watch_tree("/nonexistent/directory")));
}

}  // namespace
}  // namespace pinfold::agent
