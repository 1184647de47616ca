#include <fmt/format.h>

#include <utility>

#include "judge/difference.hpp"
#include "steps/step_result.hpp"
#include "steps/step_tests.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {

VmResult<StepResult> act(StepContext& context, const StopStep& step) {
  PINFOLD_LET(const auto reply, context.ask({{"op", "stop"}, {"name", step.program}}));
  context.running.erase(step.program);
  return as_result(reply);
}

VmResult<StepResult> act(StepContext& context, const ExecStep& step) {
  PINFOLD_LET(const auto reply, context.run_command(step.command, step.cgroup));
  if (!reply.value("ok", false)) return failure(reply.value("error", ""));
  if (auto killed = context.end_of_killed(reply)) return std::move(*killed);
  const std::string out = reply.value("stdout", "");
  const std::string end = describe_end(reply);
  const std::string said = excerpt(out + reply.value("stderr", ""));
  if (reply.value("timedOut", false))
    return failure(fmt::format("not done within {}: {}", context.limit_text(), said));
  if (step.status && reply.value("status", -1) != *step.status) {
    return failure(
        fmt::format("expected status {}, it ended with {}: {}", *step.status, end, said));
  }
  if (out.find(step.output) == std::string::npos) {
    return failure(missing_text(step.output, out + reply.value("stderr", "")));
  }
  StepResult result = step.results ? judge_tests(step, out, reply) : success();
  if (!step.output.empty()) result.checks.push_back({"output", step.output, excerpt(out), true});
  return result;
}

}  // namespace pinfold::harness
