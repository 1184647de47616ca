#include "steps/step_runner.hpp"

#include <fmt/format.h>

#include <utility>

#include "judge/difference.hpp"
#include "steps/step_kubelet.hpp"
#include "steps/step_product.hpp"
#include "steps/step_result.hpp"
#include "steps/step_runtime.hpp"
#include "steps/step_sample.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {
namespace {

/// The maximum number of log lines that a failed step shows.
constexpr const char* kLogLines = "20";

/// Adds the ends of the scenario's logs to the message of a failed step.
void add_logs(StepContext& context, StepResult& result) {
  for (const std::string& log : context.scenario.logs) {
    const auto reply = context.ask({{"op", "exec"}, {"argv", {"tail", "-n", kLogLines, log}}});
    if (!reply) return;  // the step's own message is what matters
    const std::string end = excerpt(reply->value("stdout", "") + reply->value("stderr", ""));
    result.message += fmt::format("\n{} ends with:\n{}", log, end);
  }
}

}  // namespace

VmResult<void> StepRunner::prepare() {
  if (!context_.scenario.modules.empty()) {
    PINFOLD_LET(const auto loaded,
                context_.ask({{"op", "modules"}, {"names", context_.scenario.modules}}));
    if (!loaded.value("ok", false)) {
      return tl::unexpected(VmFailure{Trouble::kHost, "modules: " + loaded.value("error", "")});
    }
  }
  if (context_.scenario.machine.disk) {
    PINFOLD_TRY(make_disk(context_));
  }
  PINFOLD_TRY(put_files(context_));
  return mark_disk(context_);
}

VmResult<StepResult> StepRunner::run(const ScenarioStep& step) {
  const bool only_looks = std::holds_alternative<StartStep>(step.action) ||
                          std::holds_alternative<WriteStep>(step.action) ||
                          std::holds_alternative<ExpectStep>(step.action);
  if (!only_looks) context_.desired.reset();
  context_.time_limit = Milliseconds(
      static_cast<std::int64_t>(step.time_limit_s * 1000 * context_.options.time_scale));
  context_.kill_at = step.kill_at;
  auto result =
      std::visit([this](const auto& action) { return act(context_, action); }, step.action);
  if (result && result->ok && context_.kill_at) {
    result = failure("killAt: the step has run no command");
  }
  if (result && result->ok) {
    PINFOLD_TRY(mark_disk(context_));
  }
  if (result && !result->ok) add_logs(context_, *result);
  if (result && context_.sampling) {
    PINFOLD_TRY(note_exclusive(context_, *result));
  }
  // A killed command may leave a decision undone; the step that completes it makes the mark.
  if (result && context_.witnessed && !step.kill_at) {
    PINFOLD_TRY(note_witnessed(context_, *result));
  }
  if (result) {
    PINFOLD_TRY(note_groups(context_, step.action, *result));
  }
  return result;
}

Json StepRunner::memory() const { return memory_of(context_); }

bool StepRunner::recall(const Json& memory) { return harness::recall(context_, memory); }

}  // namespace pinfold::harness
