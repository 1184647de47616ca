#pragma once

#include "steps/step_context.hpp"

/// Steps that need no header of their own. Those of a kubelet, the product, the runtime and the
/// sampler also have functions for others.
namespace pinfold::harness {

/// Compare the kernel with what is expected.
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const ExpectStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const VerifyStep& step);
/// After `expect` and `verify`: records the scenario's groups for the report's picture.
[[nodiscard]] VmResult<void> note_groups(StepContext& context, const StepAction& action,
                                         StepResult& result);

/// Write kernel values.
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const CpusStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const WriteStep& step);

/// Runs or stops a program that the scenario names.
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const ExecStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StopStep& step);

/// Hot-plugging: QEMU's monitor adds the hardware, the guest brings it online.
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const PlugStep& step);

/// Makes the recorded disk.
[[nodiscard]] VmResult<void> make_disk(StepContext& context);
/// Marks the current contents of the disk, if any, as acknowledged: they must survive.
[[nodiscard]] VmResult<void> mark_disk(StepContext& context);
/// Judges the effects of power cuts on the recorded disk.
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const PowerCutsStep& step);

/// The witness checks from the kernel's record of the scheduler what ran on exclusive CPUs.
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StartWitnessStep& step);
[[nodiscard]] VmResult<StepResult> act(StepContext& context, const StopWitnessStep& step);
/// While the witness runs: marks the end of a step in its record, and notes the exclusive CPUs.
[[nodiscard]] VmResult<void> note_witnessed(StepContext& context, StepResult& result);

/// Returns what is known about a guest, stored next to a saved state of it.
[[nodiscard]] Json memory_of(const StepContext& context);
/// Restores the context from a result of memory_of(). Returns false for other JSON.
[[nodiscard]] bool recall(StepContext& context, const Json& memory);

}  // namespace pinfold::harness
