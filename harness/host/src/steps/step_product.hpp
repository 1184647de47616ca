#pragma once

#include <string>
#include <vector>

#include "steps/step_context.hpp"

/// Steps that call the product in the guest, and processes in its containers.
namespace pinfold::harness {

/// Copies the scenario's files into the guest and, for the product, its cgroup root and
/// configuration.
[[nodiscard]] VmResult<void> put_files(StepContext& context);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const AdmitStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StartStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const RemoveStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const RestartStep& step);

/// Reads the desired cpusets: the product's, or those in the state files of the machine's kubelet.
/// Sets `problem` if they cannot be read.
[[nodiscard]] VmResult<std::vector<DesiredContainer>> desired(StepContext& context,
                                                              std::string& problem);
/// Returns the cgroup of a container of the product or of the runtime; sets `result.message` if
/// there is none.
[[nodiscard]] VmResult<std::string> cgroup_of(StepContext& context, const std::string& container,
                                              StepResult& result);

}  // namespace pinfold::harness
