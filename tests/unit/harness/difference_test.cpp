#include "judge/difference.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "steps/step_result.hpp"

namespace pinfold::harness {
namespace {

TEST(ListDifference, NamesWhatIsMissingAndWhatIsTooMuch) {
  EXPECT_EQ(list_difference({"db cpuset.cpus.effective", "0-3", "0-2"}), "lacks 3");
  EXPECT_EQ(list_difference({"db Cpus_allowed_list", "2-3", "0-7"}), "also has 0-1,4-7");
  EXPECT_EQ(list_difference({"db pageNodes", "0", "1"}), "lacks 0, also has 1");
  EXPECT_EQ(list_difference({"db cpu.weight", "100", "77"}), "") << "a number is no list";
  EXPECT_EQ(list_difference({"db cpuset.cpus", "0-3", "(ENOENT)"}), "");
}

TEST(DescribeEnd, SaysWhatGivesMoreTime) {
  EXPECT_EQ(describe_end({{"timedOut", true}, {"signal", 9}}),
            "the time limit, which --time-scale extends");
  EXPECT_EQ(describe_end({{"status", 3}}), "status 3");
}

TEST(Concluded, HasTheProblemAndWhatIsWrong) {
  StepResult result;
  result.message = "there is no container 'a/b'";
  result.checks = {{"c cpuset.cpus", "0-3", "0-2", false}, {"d cpuset.cpus", "1", "1", true}};
  EXPECT_EQ(concluded(result).message,
            "there is no container 'a/b'; c cpuset.cpus: expected '0-3', the kernel has '0-2': "
            "lacks 3");
  EXPECT_FALSE(concluded(result).ok);
  result.checks.erase(result.checks.begin());
  EXPECT_EQ(concluded(result).message, "there is no container 'a/b'");
  EXPECT_FALSE(concluded(result).ok);
  result.message = "";
  EXPECT_TRUE(concluded(result).ok);
}

TEST(NearestLine, SharesAtLeastHalfOfWhatIsWanted) {
  const char* text = "one\npolicy: static\npolicy: none at all\n";
  EXPECT_EQ(nearest_line(text, "policy: restricted"), "") << "8 of 18 letters";
  EXPECT_EQ(nearest_line(text, "policy: statik"), "policy: static");
  EXPECT_EQ(nearest_line("", "x"), "");
}

TEST(MissingText, ShowsTheNearestLineOrTheEnd) {
  EXPECT_EQ(missing_text("CPUs 0-3", "noise\nhas CPUs 0-2 now\n"),
            "expected 'CPUs 0-3' in the output, the nearest line is 'has CPUs 0-2 now'");
  EXPECT_EQ(missing_text("xyz", "abc\n"), "expected 'xyz' in: abc");
}

TEST(ReasonsIn, LeavesTheRestOfTheAnswerOut) {
  const nlohmann::json rejected = {
      {"stdout", R"([{"name": "web", "containers": [1, 2, 3], "reason": "SMTAlignmentError",
                      "message": "3 CPUs are no whole cores"}])"},
      {"stderr", ""}};
  EXPECT_EQ(reasons_in(rejected), ": SMTAlignmentError: 3 CPUs are no whole cores");
  const nlohmann::json failed = {
      {"stdout", ""},
      {"stderr", "{\"error\": {\"code\": \"io\", \"message\": \"disk is full\"}}\n"}};
  EXPECT_EQ(reasons_in(failed), ": disk is full");
  EXPECT_EQ(reasons_in({{"stdout", "[{\"admitted\": true}]"}, {"stderr", ""}}), "");
  EXPECT_EQ(reasons_in({{"stdout", "no json\n"}, {"stderr", "oops\n"}}), ": no json\noops");
  EXPECT_EQ(reasons_in(nlohmann::json::object()), "");
}

}  // namespace
}  // namespace pinfold::harness
