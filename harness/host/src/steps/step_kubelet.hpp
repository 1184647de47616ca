#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/harness/scenario.hpp"
#include "steps/step_context.hpp"

/// Steps and expectations with a kubelet in the guest.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const KubeletStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const WaitKubeletStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const RunStaticPodStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const RemoveStaticPodStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const WaitPodStep& step);

/// Returns full cgroup paths by "pod/container": for the containers of static pods that a `waitPod`
/// has seen running and none has seen removed.
[[nodiscard]] std::map<std::string, std::string> kubelet_cgroups(const StepContext& context);

/// Returns what the kubelet's state files assign to the containers of kubelet_cgroups(); sets
/// `problem` if the files cannot be read.
[[nodiscard]] VmResult<std::vector<DesiredContainer>> desired_of_kubelet(StepContext& context,
                                                                         std::string& problem);

/// Checks the values of one of the kubelet's state files.
[[nodiscard]] VmResult<void> expect_state_file(StepContext& context, const Expectation& expectation,
                                               StepResult& result);

}  // namespace pinfold::harness
