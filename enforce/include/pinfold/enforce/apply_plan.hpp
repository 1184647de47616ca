#pragma once

#include <functional>
#include <vector>

#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/plan.hpp"

namespace pinfold::enforce {

/// Called before and after each step that is applied to the kernel.
enum class StepMoment { kBefore, kAfter };
using StepWatcher = std::function<void(const Step&, StepMoment)>;

/// A step that was not applied. Its group is not as desired; the others do not suffer from it.
struct FailedStep {
  Step step;
  Error error;  ///< names the group, and what to do where that can be known
};

struct PlanResult {
  Plan done;                       ///< without the steps that change nothing
  std::vector<FailedStep> failed;  ///< what remains, in the order of the plan
};

/// Applies the steps of a plan from `before` to `after`. A step that fails fails its own group. The
/// following steps are applied unless the group does not exist, or containers would share CPUs that
/// neither layout lets them share, because a group did not leave its own: such a step is held back
/// and fails too, and names that group. So the promise of plan() holds after any steps have failed.
/// Values hold back nothing.
/// Domain: `before` is what the kernel has; `machine`: as plan() had it.
[[nodiscard]] PlanResult apply_plan(Cgroups& cgroups, const Plan& steps, const Layout& before,
                                    const Layout& after, const CpuSet& machine,
                                    const StepWatcher& watcher = {});

}  // namespace pinfold::enforce
