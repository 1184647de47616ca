#pragma once

#include "steps/step_context.hpp"

/// The sampler: checks that no exclusive CPU is ever in another container, even briefly.
namespace pinfold::harness {

[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StartSamplingStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StopSamplingStep& step);
/// While the sampler runs: records the exclusive CPUs of each group.
[[nodiscard]] VmResult<void> note_exclusive(StepContext& context, StepResult& result);

/// Returns the root of the groups that sampler and witness judge: the runtime's if there is a
/// container runtime, else the product's, else the root of the hierarchy.
[[nodiscard]] std::string judged_root(const Scenario& scenario, CgroupMode mode);
/// With a runtime: creates judged_root(), which otherwise the first pod would create.
[[nodiscard]] VmResult<void> make_judged_root(StepContext& context);
/// Returns the exclusive CPUs of each group now, by `pinfold status`. A status that cannot be read
/// fails the step.
[[nodiscard]] VmResult<ExclusiveCpus> exclusive_now(StepContext& context, StepResult& result);

}  // namespace pinfold::harness
