#include "pinfold/harness/test_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "steps/step_tests.hpp"

namespace pinfold::harness {

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const TestOutcome& one, std::ostream* out) {
  static constexpr const char* kKinds[] = {"ok", "failed", "skipped"};
  *out << kKinds[static_cast<int>(one.kind)] << " '" << one.name << "' (" << one.note << ")";
}

namespace {

using Kind = TestOutcome::Kind;

TEST(TestOutputTap, ReadsResultsWithNumbersNamesAndDirectives) {
  const TestOutput output = parse_test_output(
      "TAP version 14\n1..7\nok 1 - first\nnot ok 2 second # exit=3\nok 3 third # SKIP no "
      "cpuset\r\n"
      "not ok 4 fourth # TODO later\nok - fifth\nok\nok 7\nokay 8 no result\n# a comment\n",
      TestFormat::kTap);
  EXPECT_EQ(output.problem, "");
  EXPECT_THAT(
      output.outcomes,
      testing::ElementsAre(
          TestOutcome{"first", Kind::kOk, ""}, TestOutcome{"second", Kind::kFailed, "exit=3"},
          TestOutcome{"third", Kind::kSkipped, "no cpuset"},
          TestOutcome{"fourth", Kind::kSkipped, "later"}, TestOutcome{"fifth", Kind::kOk, ""},
          TestOutcome{"unnamed", Kind::kOk, ""}, TestOutcome{"7", Kind::kOk, ""}));
}

TEST(TestOutputTap, NamesTestsOfATestAfterIt) {
  const TestOutput output = parse_test_output(
      "        ok 1 - deep\n    ok 1 - inner\n    not ok 2 - other\nnot ok 1 - outer\n"
      "    ok 1 - inner\nok 2 - next\n1..2\n",
      TestFormat::kTap);
  EXPECT_EQ(output.problem, "");
  EXPECT_THAT(output.outcomes,
              testing::ElementsAre(TestOutcome{"outer / inner / deep", Kind::kOk, ""},
                                   TestOutcome{"outer / inner", Kind::kOk, ""},
                                   TestOutcome{"outer / other", Kind::kFailed, ""},
                                   TestOutcome{"outer", Kind::kFailed, ""},
                                   TestOutcome{"next / inner", Kind::kOk, ""},
                                   TestOutcome{"next", Kind::kOk, ""}));
}

TEST(TestOutputTap, LeavesOutTheDetailsOfAResult) {
  const TestOutput output = parse_test_output(
      "1..2\nnot ok 1 - a\n  ---\n  message: |\n    ok 2 - not a result\n  ...\nok 2 - b\n---\n",
      TestFormat::kTap);
  EXPECT_EQ(output.problem, "");
  EXPECT_EQ(output.outcomes.size(), 2U);
}

TEST(TestOutputKselftest, ReadsWhatARunnerAndAProgramPrint) {
  const TestOutput output = parse_test_output(
      "TAP version 13\n1..2\n# timeout set to 45\n# selftests: cgroup: test_cpuset\n"
      "# TAP version 13\n# 1..3\n# ok 1 test_cpuset_perms_object_deny\n# ok 2 # SKIP test_busy\n"
      "# not ok 3 test_load\n# # Totals: pass:1 fail:1 xfail:0 xpass:0 skip:1 error:0\n"
      "not ok 1 selftests: cgroup: test_cpuset # exit=1\n"
      "ok 2 selftests: cgroup: test_kill # SKIP\n",
      TestFormat::kKselftest);
  EXPECT_EQ(output.problem, "");
  const std::string parent = "selftests: cgroup: test_cpuset";
  EXPECT_THAT(
      output.outcomes,
      testing::ElementsAre(TestOutcome{parent + " / test_cpuset_perms_object_deny", Kind::kOk, ""},
                           TestOutcome{parent + " / test_busy", Kind::kSkipped, ""},
                           TestOutcome{parent + " / test_load", Kind::kFailed, ""},
                           TestOutcome{parent, Kind::kFailed, "exit=1"},
                           TestOutcome{"selftests: cgroup: test_kill", Kind::kSkipped, ""}));
}

TEST(TestOutput, SaysWhatIsMissing) {
  struct {
    const char* text;
    const char* problem;
  } cases[] = {
      {"1..3\nok 1\nok 2\n", "expected 3 tests, got 2"},
      {"1..0 # SKIP no NUMA\n", ""},
      {"1..1\nok 1\nok 2\n", "expected 1 tests, got 2"},
      {"1..2x\nok 1\n", ""},
      {"1..99999999999999\nok\n", ""},
      {"ok 1\nBail out! no \x1b[31mcpuset\n", "bailed out: no \\x1b[31mcpuset"},
      {"", "expected lines 'ok' and 'not ok', got none"},
      {"Segmentation fault\n", "expected lines 'ok' and 'not ok', got none"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(parse_test_output(c.text, TestFormat::kTap).problem, c.problem) << c.text;
  }
}

TEST(TestOutput, IsBounded) {
  std::string text;
  for (int i = 0; i < 10001; ++i) text += "ok\n";
  EXPECT_EQ(parse_test_output(text, TestFormat::kTap).outcomes.size(), 10000U);
  EXPECT_EQ(parse_test_output(text, TestFormat::kTap).problem, "expected at most 10000 tests");
  const auto deep =
      parse_test_output(std::string(4000, ' ') + "ok 1 a\nok 2 b\n", TestFormat::kTap);
  EXPECT_EQ(deep.outcomes.front().name, "b / a");
  const auto wide = parse_test_output("ok 1 " + std::string(5000, 'x'), TestFormat::kTap);
  EXPECT_EQ(wide.outcomes.front().name.size(), 200U);
}

TEST(TestOutput, ExitStatusHasASkip) {
  EXPECT_EQ(outcome_of_status(0), Kind::kOk);
  EXPECT_EQ(outcome_of_status(4), Kind::kSkipped);
  EXPECT_EQ(outcome_of_status(77), Kind::kSkipped);
  EXPECT_EQ(outcome_of_status(1), Kind::kFailed);
  EXPECT_EQ(outcome_of_status(139), Kind::kFailed);
}

ExecStep program_with(TestFormat format) {
  ExecStep step;
  step.command = {"/bin/test"};
  step.results = format;
  return step;
}

TEST(JudgeTests, EachTestIsAStep) {
  const StepResult result =
      judge_tests(program_with(TestFormat::kTap),
                  "1..3\nok 1 a\nnot ok 2 b # why\nok 3 c # SKIP no\n", {{"status", 1}});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.message, "1 of 3 tests failed: b");
  ASSERT_EQ(result.tests.size(), 3U);
  EXPECT_EQ(result.tests[0].title, "/bin/test: a");
  EXPECT_TRUE(result.tests[0].ok);
  EXPECT_FALSE(result.tests[1].ok);
  EXPECT_EQ(result.tests[1].message, "the test failed: why");
  EXPECT_TRUE(result.tests[2].ok);
  EXPECT_EQ(result.tests[2].title, "/bin/test: c skipped: no");
}

TEST(JudgeTests, AProgramCanFailWithoutAFailedTest) {
  const struct {
    TestFormat format;
    const char* out;
    Json reply;
    const char* message;
  } cases[] = {
      {TestFormat::kTap, "1..1\nok 1\n", {{"status", 0}}, ""},
      {TestFormat::kTap, "1..1\nok 1 # SKIP\n", {{"status", 77}}, ""},
      {TestFormat::kTap, "1..2\nok 1\n", {{"status", 0}}, "expected 2 tests, got 1"},
      {TestFormat::kTap,
       "1..1\nok 1\n",
       {{"signal", 11}},
       "every test is ok, but the program ended with signal 11"},
      {TestFormat::kTap,
       "1..2\nnot ok 1 x\n",
       {{"status", 1}},
       "1 of 1 tests failed: x; expected 2 tests, got 1"},
      {TestFormat::kExit, "not ok", {{"status", 0}}, ""},
      {TestFormat::kExit, "", {{"status", 4}}, ""},
      {TestFormat::kExit, "", {{"status", 3}}, "1 of 1 tests failed: exit status"},
  };
  for (const auto& c : cases) {
    const StepResult result = judge_tests(program_with(c.format), c.out, c.reply);
    EXPECT_EQ(result.message, c.message) << c.out << c.reply;
    EXPECT_EQ(result.ok, std::string_view(c.message).empty());
  }
}

}  // namespace
}  // namespace pinfold::harness
