#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_program.hpp"

namespace pinfold {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_shell;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

Outcome run(const std::string& arguments) {
  return run_shell(fmt::format("env -i LANG=C.UTF-8 '{}' simulate {}", PINFOLD_COMMAND, arguments));
}

/// Returns the runs by rule, without the times, which differ between runs.
json runs_of(const std::string& plan) {
  const Outcome outcome = run(fmt::format("--cluster '{}' -o json", plan));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  json document = json::parse(outcome.out);
  json by_rule;
  for (json& run : document["runs"]) {
    run.erase("filterP50Seconds");
    run.erase("filterP99Seconds");
    by_rule[run["rule"].get<std::string>()] = run;
  }
  return by_rule;
}

TEST(SimulateCluster, TheExtenderPreventsBouncesThatSumsAndLateObjectsCause) {
  for (const int delay : {0, 10}) {
    const json runs = runs_of(fmt::format("nodes=60,pods=300,delay={}", delay));
    EXPECT_GT(runs["sums"]["bouncedCount"], 10) << delay;
    EXPECT_EQ(runs["extender"]["bouncedCount"], 0) << delay;
    EXPECT_EQ(
        runs["extender"]["unplacedCount"].get<int>() + runs["extender"]["placedCount"].get<int>(),
        300);
  }
  EXPECT_GT(runs_of("nodes=60,pods=300,delay=10")["published"]["bouncedCount"], 10);
}

TEST(SimulateCluster, TheSamePlanGivesTheSameNumbers) {
  EXPECT_EQ(runs_of("nodes=20,pods=100,seed=4,delay=3"),
            runs_of("nodes=20,pods=100,seed=4,delay=3"));
  EXPECT_NE(runs_of("nodes=20,pods=100,seed=4"), runs_of("nodes=20,pods=100,seed=5"));
}

TEST(SimulateCluster, DrawsTheBounces) {
  const Outcome outcome = run("--cluster nodes=60,pods=300");
  EXPECT_THAT(outcome.out, StartsWith("60 nodes, 300 pods, seed 1, objects 0 s late\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("\n  sums .*(@|█)"));  // the most of all
  EXPECT_THAT(outcome.out, ContainsRegex("\n  extender .* 0 +([.]|·){30}\n"));
}

TEST(SimulateCluster, TheBouncesOverTimeAreAll) {
  const json runs = runs_of("nodes=60,pods=300,delay=10");
  for (const json& run : runs) {
    std::size_t sum = 0;
    for (const json& count : run["bouncesOverTime"]) sum += count.get<std::size_t>();
    EXPECT_EQ(sum, run["bouncedCount"]) << run;
  }
}

TEST(SimulateCluster, NamesWhatIsWrongWithThePlan) {
  for (const auto& [plan, message] : {std::pair("nodes=0", "nodes: '0': expected 1 to 100000"),
                                      std::pair("delay=x", "delay: 'x': expected 0 to 3600"),
                                      std::pair("score=best", "'score=best': expected nodes=N"),
                                      std::pair("nodes=5,nodes=6", "'nodes' occurs twice"),
                                      std::pair("score=pack,score=pack", "'score' occurs twice"),
                                      std::pair("zones=2", "'zones=2'")}) {
    const Outcome outcome = run(fmt::format("--cluster '{}'", plan));
    EXPECT_EQ(outcome.status, 2) << plan;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << plan;
  }
}

}  // namespace
}  // namespace pinfold
