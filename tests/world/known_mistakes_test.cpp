#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "world.hpp"

namespace pinfold::world {
namespace {

std::string name_of(std::string text) {
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

class KnownMistakes : public testing::TestWithParam<const char*> {};

TEST_P(KnownMistakes, AreNoticed) {
  const Bug bug = parse_bug(GetParam()).value();
  constexpr std::uint64_t kMostSeeds = 600;
  for (std::uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    const History history = generate(seed, 60);
    if (!run(history, Log::kOff, bug).failure) continue;
    ASSERT_FALSE(run(history).failure) << "seed " << seed << " without the mistake";
    const History small = shrink(history, bug);
    EXPECT_LE(small.actions.size(), 10U) << to_string(small);
    EXPECT_FALSE(small.actions.empty()) << "nothing has to happen";
    EXPECT_TRUE(run(small, Log::kOff, bug).failure) << to_string(small);
    EXPECT_FALSE(run(small).failure) << to_string(small);
    return;
  }
  FAIL() << "no history of " << kMostSeeds << " notices it";
}

INSTANTIATE_TEST_SUITE_P(All, KnownMistakes,
                         testing::Values("no-directory-sync", "no-file-sync", "no-journal",
                                         "grant-first", "old-values", "no-processes", "clock-back",
                                         "empty-is-no-change", "lost-events", "early-lock",
                                         "reused-numbers", "replayed-journal", "refuse-all",
                                         "same-ids", "late-updates", "open-gate"),
                         [](const auto& of) { return name_of(of.param); });

/// A container that has ended has a different id from the one that now has its name.
TEST(HarmlessMistake, EndsThatComeAfterTheNextStartBreakNothing) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Outcome outcome = run(generate(seed, 60), Log::kOff, Bug::kSwappedEvents);
    EXPECT_FALSE(outcome.failure) << "seed " << seed << ": " << outcome.failure->promise << ": "
                                  << outcome.failure->what;
  }
}

/// One in 240 random histories reveals it.
TEST(KnownMistake, ARemovedJournalThatReappears) {
  const History history =
      parse_history("cgroups 2 config 0 processes\nconfigure 40 ! error 2\n").value();
  EXPECT_FALSE(run(history).failure);
  const Outcome outcome = run(history, Log::kOff, Bug::kOldJournal);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->promise, "files") << outcome.failure->what;
}

TEST(KnownMistake, OnlyTheIdTellsALateEndFromThatOfTheContainerThatRuns) {
  const History history = parse_history(
                              "cgroups 2 config 0 runtime\nsandbox 0 5\ncreate 0 0\nbegin 0 0\n"
                              "stop 0 0\ncreate 0 0\nbegin 0 0\ncreate 0 1\nbegin 0 1\n")
                              .value();
  const Outcome distinct = run(history, Log::kOff, Bug::kSwappedEvents);
  EXPECT_FALSE(distinct.failure) << distinct.failure->what;
  const Outcome same = run(history, Log::kOff, Bug::kSameIds);
  ASSERT_TRUE(same.failure);
  // The late event has removed a running container, and the next pod is admitted without it.
  EXPECT_EQ(same.failure->promise, "admits") << same.failure->what;
}

}  // namespace
}  // namespace pinfold::world
