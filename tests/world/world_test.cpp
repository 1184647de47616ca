#include "world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "picture.hpp"

namespace pinfold::world {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string name_of(std::string text) {
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

TEST(World, KeepsItsPromises) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const History history = generate(seed, 60);
    const Outcome outcome = run(history);
    ASSERT_FALSE(outcome.failure) << "seed " << seed << ", action " << outcome.failure->action
                                  << ": " << outcome.failure->promise << ": "
                                  << outcome.failure->what << "\n"
                                  << to_string(shrink(history));
    tally += outcome.tally;
  }
  for (const char* const fault : {"kill", "cut", "error", "full", "rewrite", "offline"}) {
    EXPECT_GT(tally.faults[fault], 0U) << fault;
  }
}

TEST(World, TheSameSeedHasTheSameHistory) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Outcome first = run(generate(seed, 100), Log::kOn);
    const Outcome second = run(generate(seed, 100), Log::kOn);
    EXPECT_GT(first.log.size(), 100U);
    EXPECT_EQ(first.log, second.log);
  }
}

TEST(World, AHistoryIsReadAsItIsPrinted) {
  const History history = generate(7, 500);
  const auto read = parse_history(to_string(history));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_string(*read), to_string(history));
}

TEST(World, RefusesWhatIsNoHistory) {
  for (const char* const text :
       {"", "cgroups 3 config 0\n", "cgroups 2 config 0\nfly 3\n", "cgroups 2 config 0\nadmit 1\n",
        "cgroups 2 config 0\nquiet ! kill\n", "cgroups 2 config 0\nquiet now\n"}) {
    EXPECT_FALSE(parse_history(text)) << text;
  }
}

TEST(World, APictureShowsWhatIsBroken) {
  const auto picture = [](const char* actions, Bug bug) {
    const History history =
        parse_history(std::string("cgroups 2 config 0\nadmit 1 2\nadmit 2 0\n") + actions).value();
    return picture_of(history, run(history, Log::kOn, bug));
  };
  const std::string sound = picture("start 1 0\n", Bug::kNone);
  EXPECT_THAT(sound, HasSubstr("<title>p1/a: CPUs 1-2, after"));
  EXPECT_THAT(sound, HasSubstr("<title>p2/a: CPUs 0,3-7, no process, after"));
  EXPECT_THAT(sound, HasSubstr(">start 1 0</text>"));
  EXPECT_THAT(sound, Not(HasSubstr("\"bad")));
  EXPECT_THAT(sound, Not(HasSubstr("<line class=\"fault\"")));
  EXPECT_THAT(picture("start 1 0 ! error 1\n", Bug::kNone), HasSubstr("<line class=\"fault\""));
  EXPECT_THAT(picture("start 1 0\nkill 1\n", Bug::kNoProcesses), HasSubstr("class=\"bad\""));
}

class KnownMistakes : public testing::TestWithParam<const char*> {};

TEST_P(KnownMistakes, AreNoticed) {
  const Bug bug = parse_bug(GetParam()).value();
  constexpr std::uint64_t kMostSeeds = 33;
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
                                         "reused-numbers"),
                         [](const auto& of) { return name_of(of.param); });

class HarmlessMistakes : public testing::TestWithParam<const char*> {};

/// The records of a journal that is back are of contents that the files have, or had before; the
/// plugin takes what it needs from whichever event comes first.
TEST_P(HarmlessMistakes, BreakNothing) {
  for (std::uint64_t seed = 1; seed <= 33; ++seed) {
    const Outcome outcome = run(generate(seed, 60), Log::kOff, parse_bug(GetParam()).value());
    EXPECT_FALSE(outcome.failure) << "seed " << seed << ": " << outcome.failure->promise << ": "
                                  << outcome.failure->what;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HarmlessMistakes, testing::Values("old-journal", "swapped-events"),
                         [](const auto& of) { return name_of(of.param); });

class Histories : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Histories, KeepTheirPromises) {
  std::ifstream in(GetParam(), std::ios::binary);
  const auto history = parse_history(std::string{std::istreambuf_iterator<char>(in), {}});
  ASSERT_TRUE(history) << history.error().message;
  const Outcome outcome = run(*history);
  EXPECT_FALSE(outcome.failure) << outcome.failure->promise << ": " << outcome.failure->what;
}

std::vector<std::filesystem::path> all_histories() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(PINFOLD_HISTORIES)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(All, Histories, testing::ValuesIn(all_histories()),
                         [](const auto& of) { return name_of(of.param.stem().string()); });

}  // namespace
}  // namespace pinfold::world
