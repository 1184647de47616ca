#include <fmt/format.h>
#include <fmt/ranges.h>

#include "step_result.hpp"
#include "step_runner.hpp"

/// Steps with the recorded disk: the effects of power cuts.
namespace pinfold::harness {

VmResult<void> StepRunner::make_disk() {
  const VmDisk& disk = *scenario_.machine.disk;
  PINFOLD_LET(const auto made, ask({{"op", "disk"},
                                    {"filesystem", to_string(disk.filesystem)},
                                    {"bytes", disk.size},
                                    {"folder", disk.folder},
                                    {"mkfs", mkfs_command(disk)}}));
  if (made.value("ok", false)) return {};
  return tl::unexpected(VmFailure{Trouble::kHost, "the disk: " + made.value("error", "")});
}

VmResult<void> StepRunner::mark_disk() {
  if (!scenario_.machine.disk) return {};
  PINFOLD_TRY(ask({{"op", "mark"}}));
  return {};
}

VmResult<StepResult> StepRunner::act(const PowerCutsStep& step) {
  PowerCutQuestion question{step.losses, {}, step.files, {}};
  std::vector<int> losses;
  for (const Loss loss : step.losses) losses.push_back(static_cast<int>(loss));
  for (const auto& command : step.commands) {
    question.commands.push_back(fmt::format("{}", fmt::join(command, " ")));
  }
  for (const Step& one : scenario_.steps) question.steps.push_back(one.title);
  PINFOLD_LET(const auto reply, ask({{"op", "cut-power"},
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
    result = failure(fmt::format("not done within {}: {} cuts", limit_text(), cuts->cuts));
  }
  if (cuts->failed > 0) {
    result.message =
        fmt::format("{} of {} power cuts went wrong; {}", cuts->failed, cuts->cuts, cuts->first);
  }
  result.power_cuts = std::move(*cuts);
  return result;
}

}  // namespace pinfold::harness
