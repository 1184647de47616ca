#include "world.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "picture.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

namespace pinfold::world {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string name_of(std::string text) {
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

/// Runs a history and adds what happened to `tally`.
testing::AssertionResult keeps_promises(const History& history, Tally& tally) {
  const Outcome outcome = run(history);
  tally += outcome.tally;
  if (!outcome.failure) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "action " << outcome.failure->action << ": " << outcome.failure->promise << ": "
         << outcome.failure->what << "\n"
         << to_string(shrink(history));
}

TEST(World, KeepsItsPromises) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ASSERT_TRUE(keeps_promises(generate(seed, 60), tally)) << "seed " << seed;
  }
  for (const char* const fault :
       {"kill", "cut", "error", "full", "rewrite", "offline", "clock", "unreadable", "runtime"}) {
    EXPECT_GT(tally.faults[fault], 0U) << fault;
  }
}

TEST(World, NoContainerPassesABarrierUnplaced) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    ASSERT_TRUE(keeps_promises(barrier_starts(seed, 60), tally)) << "seed " << seed;
  }
  EXPECT_GT(tally.faults["gate"], 0U);
  EXPECT_GT(tally.faults["silent"], 0U);
  EXPECT_GT(tally.passed, 400U);
  EXPECT_GT(tally.refused, 0U);
}

class TheSameSeed : public testing::TestWithParam<std::tuple<bool, enforce::CgroupVersion>> {
 protected:
  static constexpr int kActions = 100;
  /// Returns the first seeds whose histories have these settings.
  static std::vector<std::uint64_t> seeds() {
    std::vector<std::uint64_t> found;
    for (std::uint64_t seed = 1; found.size() < 2; ++seed) {
      const History history = generate(seed, 1);
      if (std::tuple(history.has_runtime, history.cgroups) == GetParam()) found.push_back(seed);
    }
    return found;
  }
};

TEST_P(TheSameSeed, HasTheSameHistory) {
  for (const std::uint64_t seed : seeds()) {
    const Outcome first = run(generate(seed, kActions), Log::kOn);
    const Outcome second = run(generate(seed, kActions), Log::kOn);
    EXPECT_GT(first.log.size(), 100U);
    EXPECT_EQ(first.log, second.log);
  }
}

TEST_P(TheSameSeed, HasItInEachProcess) {
  const test::TempDir dir;
  for (const std::uint64_t seed : seeds()) {
    dir.write("history", to_string(generate(seed, kActions)));
    const std::string command =
        fmt::format("{} show {} --actions {} && {} replay {}", PINFOLD_WORLD, seed, kActions,
                    PINFOLD_WORLD, dir / "history");
    const auto first = test::run_shell(command);
    const auto second = test::run_shell(command);
    EXPECT_EQ(first.status, 0) << first.err;
    EXPECT_THAT(first.out, HasSubstr("disk: "));
    EXPECT_TRUE(first.out == second.out) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TheSameSeed,
                         testing::Combine(testing::Bool(),
                                          testing::Values(enforce::CgroupVersion::kV1,
                                                          enforce::CgroupVersion::kV2)),
                         [](const auto& of) {
                           return fmt::format("{}_v{}",
                                              std::get<0>(of.param) ? "runtime" : "clients",
                                              static_cast<int>(std::get<1>(of.param)));
                         });

TEST(World, AHistoryIsReadAsItIsPrinted) {
  const History history = generate(7, 500);
  const auto read = parse_history(to_string(history));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_string(*read), to_string(history));
  const std::string text =
      "cgroups 2 config 0\nconfigure 1 ! offline 3 2 ! kill 5 ! clock 1 -60 ! silent 2\n";
  const auto several = parse_history(text);
  ASSERT_TRUE(several) << several.error().message;
  EXPECT_THAT(several->actions.front().faults, SizeIs(4));
  EXPECT_EQ(to_string(*several), text);
}

TEST(World, SeveralFaultsHappenInOneAction) {
  const auto faults_of = [](const char* action) {
    const std::string text = std::string("cgroups 2 config 0\nadmit 1 2\n") + action + "\n";
    const Outcome outcome = run(parse_history(text).value(), Log::kOn);
    EXPECT_FALSE(outcome.failure) << outcome.failure->what;
    return outcome.tally.faults;
  };
  using Counts = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(faults_of("configure 1 ! offline 0 3 ! kill 4"), (Counts{{"offline", 1}, {"kill", 1}}));
  // The second fault strikes while the service starts again; one that is too late strikes in no
  // other action.
  EXPECT_EQ(faults_of("admit 2 2 ! kill 4 ! kill 5"), (Counts{{"kill", 2}}));
  EXPECT_EQ(faults_of("admit 2 2 ! kill 1000\nrestart"), Counts{});
}

TEST(World, FaultsAreTakenOutOneByOne) {
  const History history =
      parse_history(
          "cgroups 2 config 0\nadmit 1 2 ! clock 1 60 ! clock 2 -60 ! kill 1000\n"
          "start 1 0\nkill 1\n")
          .value();
  ASSERT_TRUE(run(history, Log::kOff, Bug::kNoProcesses).failure);
  EXPECT_THAT(shrink(history, Bug::kNoProcesses).actions.front().faults, IsEmpty());
}

TEST(World, RefusesWhatIsNoHistory) {
  for (const char* const text :
       {"", "cgroups 3 config 0\n", "cgroups 2 config 0\nfly 3\n", "cgroups 2 config 0\nadmit 1\n",
        "cgroups 2 config 0\nquiet ! kill\n", "cgroups 2 config 0\nquiet now\n",
        "cgroups 2 config 0\nrestart ! kill 1 !\n", "cgroups 2 config 0\nwait -1\n",
        "cgroups 2 config 0\nrestart ! cut 0 -1\n"}) {
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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kBusyNodes = 1;  // each takes minutes
#else
constexpr std::uint64_t kBusyNodes = 5;
#endif

class BusyNode : public testing::TestWithParam<enforce::CgroupVersion> {};

/// With docker in docker, a runtime class without container groups, and another agent.
TEST_P(BusyNode, RefusesAndMovesNobodyForAnHour) {
  for (std::uint64_t seed = 1; seed <= kBusyNodes; ++seed) {
    const History history = busy_node(seed, GetParam());
    const Outcome outcome = run(history);
    ASSERT_FALSE(outcome.failure) << "seed " << seed << ", action " << outcome.failure->action
                                  << ": " << outcome.failure->promise << ": "
                                  << outcome.failure->what << "\n"
                                  << to_string(shrink(history));
    EXPECT_GE(outcome.tally.time, std::chrono::hours(1));
    EXPECT_GT(outcome.tally.actions, 1000U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BusyNode,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2),
                         [](const auto& of) {
                           return of.param == enforce::CgroupVersion::kV1 ? "v1" : "v2";
                         });

/// Histories from seeds contain the actions of other agents and of containers.
TEST(World, HistoriesHaveEveryActorOfANode) {
  std::map<Action::Kind, int> counts;
  int without_groups = 0;
  int respelt = 0;
  int early = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const Action& action : generate(seed, 60).actions) {
      ++counts[action.kind];
      const bool is_hook = action.kind == Action::Kind::kHookCreate;
      without_groups += action.kind == Action::Kind::kSandbox && action.value >= 100 ? 1 : 0;
      respelt += is_hook && Hooked::of(action.value).spelling != 0 ? 1 : 0;
      early += is_hook && Hooked::of(action.value).is_early ? 1 : 0;
    }
  }
  using Kind = Action::Kind;
  for (const Kind kind : {Kind::kNarrow, Kind::kWiden, Kind::kSoft, Kind::kNest}) {
    EXPECT_GT(counts[kind], 0) << to_string(Action{kind});
  }
  EXPECT_GT(without_groups, 0);
  EXPECT_GT(respelt, 0);
  EXPECT_GT(early, 0);
}

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
