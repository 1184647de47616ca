#include "pinfold/harness/power_cuts.hpp"

#include <gtest/gtest.h>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

Json file(const char* bytes) { return {{{"is", bytes}, {"sum", *bytes}}}; }
Json outcome(const char* bytes) {
  return {{"mount", ""}, {"commands", Json::array({{{"status", 0}}})}, {"state", file(bytes)}};
}

/// Step 1 writes "a", step 2 "b"; two writes each and a flush between them.
Json report(Json cuts) {
  return {{"log", {512, 0, -1024, 512, 0, 512}},
          {"marks",
           {{{"position", 0}, {"state", file("-")}},
            {{"position", 3}, {"state", file("a")}},
            {{"position", 6}, {"state", file("b")}}}},
          {"outcomes", {outcome("-"), outcome("a"), outcome("b"), outcome("c")}},
          {"disks", 3},
          {"elapsedMs", 1500},
          {"cuts", std::move(cuts)}};
}

const PowerCutQuestion kQuestion = {
    {WriteLoss::kNone, WriteLoss::kAll}, {"check it"}, {"state"}, {"first", "second"}};

PowerCuts judged(Json cuts) {
  const auto result = judge_power_cuts(report(std::move(cuts)), kQuestion);
  EXPECT_TRUE(result) << result.error().message;
  return result.value_or(PowerCuts{});
}

TEST(JudgePowerCuts, AcceptsTheAcknowledgedAndTheNextState) {
  const PowerCuts cuts = judged({{1, 0, 0}, {1, 0, 1}, {3, 0, 1}, {4, 1, 1}, {4, 1, 2}, {6, 0, 2}});
  EXPECT_EQ(cuts.failed, 0U) << cuts.first;
  EXPECT_EQ(cuts.cuts, 6U);
  EXPECT_EQ(cuts.writes, 4U);
  EXPECT_EQ(cuts.flushes, 2U);
  EXPECT_EQ(cuts.disks, 3U);
  EXPECT_EQ(cuts.contents, 4U);
  EXPECT_EQ(cuts.elapsed.count(), 1500);
  ASSERT_EQ(cuts.checks.size(), 2U);
  EXPECT_EQ(cuts.checks[1].what, "power cuts with all unflushed writes lost: wrong");
  EXPECT_EQ(cuts.checks[1].observed, "0 of 2");
  EXPECT_TRUE(cuts.checks[1].ok);
}

TEST(JudgePowerCuts, ReportsTheFirstCutWithALoss) {
  const PowerCuts cuts = judged({{3, 0, 1}, {3, 1, 0}, {6, 0, 0}});
  EXPECT_EQ(cuts.failed, 2U);
  EXPECT_EQ(cuts.first,
            "cut 2, with all unflushed writes lost, after entry 3 of 6 of the log (a write of 1024 "
            "bytes, forced), when step 1 (first) had ended: the files are neither those after step "
            "1 nor those after the next: 'state' is as after step 0");
  EXPECT_FALSE(cuts.checks[0].ok);
  EXPECT_EQ(cuts.checks[0].observed, "1 of 2");
}

TEST(JudgePowerCuts, RejectsAnUnknownState) {
  EXPECT_NE(judged({{4, 0, 3}}).first.find("'state' is as after no step (c)"), std::string::npos);
}

TEST(JudgePowerCuts, RejectsAStateAfterTheNextOne) { EXPECT_EQ(judged({{2, 0, 2}}).failed, 1U); }

TEST(JudgePowerCuts, ReportsMountAndCommandFailures) {
  Json unmounted = report({{1, 0, 0}});
  unmounted["outcomes"][0] = {{"mount", "EUCLEAN"}};
  EXPECT_NE(judge_power_cuts(unmounted, kQuestion)->first.find("does not mount: EUCLEAN"),
            std::string::npos);
  Json failed = report({{1, 0, 0}});
  failed["outcomes"][0]["commands"] = {{{"status", 3}, {"said", "no"}}};
  EXPECT_NE(judge_power_cuts(failed, kQuestion)->first.find("'check it' ended with status 3: no"),
            std::string::npos);
}

TEST(JudgePowerCuts, RejectsAnIncompleteReport) {
  for (const char* key : {"log", "marks", "outcomes", "cuts", "disks"}) {
    Json broken = report({{1, 0, 0}});
    broken.erase(key);
    EXPECT_FALSE(judge_power_cuts(broken, kQuestion)) << key;
  }
  EXPECT_FALSE(judge_power_cuts(report({{1, 0, 9}}), kQuestion)) << "no such outcome";
  EXPECT_FALSE(judge_power_cuts(report({{1, 7, 0}}), kQuestion)) << "no such loss";
  EXPECT_FALSE(judge_power_cuts(report({{9, 0, 0}}), kQuestion)) << "no such entry";
}

}  // namespace
}  // namespace pinfold::harness
