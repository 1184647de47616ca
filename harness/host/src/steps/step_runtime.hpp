#pragma once

#include <map>
#include <string>

#include "steps/step_context.hpp"

/// Steps that call the container runtime in the guest.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const RunPodStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const PodStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const ContainerStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const ExecContainerStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const RuntimeStep& step);

/// Returns the cgroups of the runtime's containers, by pod and name.
[[nodiscard]] std::map<std::string, std::string> runtime_cgroups(const StepContext& context);

}  // namespace pinfold::harness
