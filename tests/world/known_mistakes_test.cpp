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
  constexpr std::uint64_t kMostSeeds = 100;
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
                                         "reused-numbers", "replayed-journal", "refuse-all"),
                         [](const auto& of) { return name_of(of.param); });

class HarmlessMistakes : public testing::TestWithParam<const char*> {};

/// The records of the last journal are of contents that the files have; what ended has another id
/// than what has its name now, and even with the same id nothing is removed in which processes run.
TEST_P(HarmlessMistakes, BreakNothing) {
  for (std::uint64_t seed = 1; seed <= 33; ++seed) {
    const Outcome outcome = run(generate(seed, 60), Log::kOff, parse_bug(GetParam()).value());
    EXPECT_FALSE(outcome.failure) << "seed " << seed << ": " << outcome.failure->promise << ": "
                                  << outcome.failure->what;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HarmlessMistakes,
                         testing::Values("old-journal", "swapped-events", "same-ids"),
                         [](const auto& of) { return name_of(of.param); });

}  // namespace
}  // namespace pinfold::world
