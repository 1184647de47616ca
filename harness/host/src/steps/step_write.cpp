#include <fmt/format.h>

#include "scenario/cgroup_paths.hpp"
#include "steps/step_product.hpp"
#include "steps/step_result.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {

VmResult<StepResult> act(StepContext& context, const WriteStep& step) {
  std::string path = step.file;
  if (!step.container.empty()) {
    StepResult result;
    PINFOLD_LET(const auto cgroup, cgroup_of(context, step.container, result));
    if (!result.message.empty()) return result;
    path = group_file(context.cgroup_mode(), cgroup, step.file);
  }
  PINFOLD_LET(const auto reply,
              context.ask({{"op", "write"}, {"path", path}, {"value", step.value}}));
  const std::string error = reply.value("errno", "?");
  if (error == step.error) return success();
  return failure(fmt::format("write '{}' to '{}': expected {}, the kernel answers {}", step.value,
                             path, step.error.empty() ? "success" : step.error,
                             error.empty() ? "success" : error));
}

VmResult<StepResult> act(StepContext& context, const CpusStep& step) {
  for (const CpuId cpu : step.cpus) {
    auto written =
        act(context, WriteStep{fmt::format("/sys/devices/system/cpu/cpu{}/online", cpu.value), "",
                               step.online ? "1" : "0", ""});
    if (!written || !written->ok) return written;
  }
  return success();
}

}  // namespace pinfold::harness
