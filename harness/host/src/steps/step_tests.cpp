#include "steps/step_tests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "judge/difference.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kNamed = 5;

StepResult test_step(const TestOutcome& outcome, const std::string& program) {
  const bool failed = outcome.kind == TestOutcome::Kind::kFailed;
  const std::string note = outcome.note.empty() ? "" : ": " + outcome.note;
  StepResult step;
  step.ok = !failed;
  step.title = fmt::format("{}: {}{}", program, outcome.name,
                           outcome.kind == TestOutcome::Kind::kSkipped ? " skipped" + note : "");
  if (failed) step.message = "the test failed" + note;
  step.test = {program, outcome};
  return step;
}

std::string message_of(const TestOutput& output, const Json& reply) {
  std::vector<std::string> failed;
  for (const TestOutcome& one : output.outcomes) {
    if (one.kind == TestOutcome::Kind::kFailed) failed.push_back(one.name);
  }
  std::string message;
  if (!failed.empty()) {
    const std::size_t named = std::min(failed.size(), kNamed);
    message = fmt::format(
        "{} of {} tests failed: {}{}", failed.size(), output.outcomes.size(),
        fmt::join(failed.begin(), failed.begin() + static_cast<std::ptrdiff_t>(named), ", "),
        named < failed.size() ? ", ..." : "");
  }
  if (!output.problem.empty()) message += (message.empty() ? "" : "; ") + output.problem;
  if (message.empty() &&
      outcome_of_status(reply.value("status", -1)) == TestOutcome::Kind::kFailed) {
    message = fmt::format("every test is ok, but the program ended with {}", describe_end(reply));
  }
  return message;
}

}  // namespace

StepResult judge_tests(const ExecStep& step, const std::string& out, const Json& reply) {
  TestOutput output;
  const std::string& program = step.command.front();
  if (*step.results == TestFormat::kExit) {
    output.outcomes = {
        {"exit status", outcome_of_status(reply.value("status", -1)), describe_end(reply)}};
  } else {
    output = parse_test_output(out, *step.results);
  }
  StepResult result;
  for (const TestOutcome& one : output.outcomes) result.tests.push_back(test_step(one, program));
  result.message = message_of(output, reply);
  result.ok = result.message.empty();
  return result;
}

}  // namespace pinfold::harness
