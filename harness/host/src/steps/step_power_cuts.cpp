#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "steps/step_result.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {

VmResult<void> make_disk(StepContext& context) {
  const VmDisk& disk = *context.scenario.machine.disk;
  PINFOLD_LET(const auto made, context.ask({{"op", "disk"},
                                            {"filesystem", to_string(disk.filesystem)},
                                            {"bytes", disk.size},
                                            {"folder", disk.folder},
                                            {"mkfs", mkfs_command(disk)}}));
  if (made.value("ok", false)) return {};
  return tl::unexpected(VmFailure{Trouble::kHost, "the disk: " + made.value("error", "")});
}

VmResult<void> mark_disk(StepContext& context) {
  const auto& steps = context.scenario.steps;
  const bool cuts_power = std::any_of(steps.begin(), steps.end(), [](const ScenarioStep& step) {
    return std::holds_alternative<PowerCutsStep>(step.action);
  });
  // A mark has the contents of every file on the disk.
  if (!context.scenario.machine.disk || !cuts_power) return {};
  PINFOLD_TRY(context.ask({{"op", "mark"}}));
  return {};
}

VmResult<StepResult> act(StepContext& context, const PowerCutsStep& step) {
  PowerCutQuestion question{step.losses, {}, step.files, {}};
  std::vector<int> losses;
  for (const WriteLoss loss : step.losses) losses.push_back(static_cast<int>(loss));
  for (const auto& command : step.commands) {
    question.commands.push_back(fmt::format("{}", fmt::join(command, " ")));
  }
  for (const ScenarioStep& one : context.scenario.steps) question.steps.push_back(one.title);
  PINFOLD_LET(const auto reply, context.ask({{"op", "cut-power"},
                                             {"losses", losses},
                                             {"commands", step.commands},
                                             {"files", step.files}}));
  if (!reply.value("ok", false)) return as_result(reply);
  auto cuts = judge_power_cuts(reply, question);
  if (!cuts) return failure(cuts.error().message);
  StepResult result;
  result.checks = cuts->checks;
  result.checks.push_back({"power cuts", fmt::format("at least {}", step.at_least),
                           std::to_string(cuts->cuts), cuts->cuts >= step.at_least});
  result = concluded(std::move(result));
  if (reply.value("timedOut", true)) {
    result = failure(fmt::format("not done within {}: {} cuts", context.limit_text(), cuts->cuts));
  }
  if (cuts->failed > 0) {
    result.message =
        fmt::format("{} of {} power cuts went wrong; {}", cuts->failed, cuts->cuts, cuts->first);
  }
  result.power_cuts = std::move(*cuts);
  return result;
}

}  // namespace pinfold::harness
