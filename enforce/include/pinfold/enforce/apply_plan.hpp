#pragma once

#include <functional>
#include <vector>

#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/plan.hpp"

namespace pinfold::enforce {

/// When a StepWatcher is called: before and after each step is applied to the kernel.
enum class StepMoment { kBefore, kAfter };
using StepWatcher = std::function<void(const Step&, StepMoment)>;

/// A step that was not applied. Its group is not as desired; other groups are not affected.
struct FailedStep {
  Step step;
  Error error;  ///< names the group and, where known, what to do
};

/// A foreign group that can still run on CPUs other than planned.
struct UnconfinedGroup {
  Step step;
  Error error;
  bool was_killed = false;  ///< its processes were killed, so none runs there
};

struct PlanResult {
  Plan done;                       ///< without steps that change nothing
  std::vector<FailedStep> failed;  ///< the steps that remain, in plan order
  std::vector<UnconfinedGroup> unconfined;
};

/// Applies the steps of a plan from `before` to `after`. A failed step fails only its own group,
/// and the plan continues. A later step is held back (it fails too, naming that group) if its group
/// does not exist, or if containers would share CPUs that neither layout lets them share because
/// the failed group did not leave them. So the guarantee of plan() holds after any failures. A
/// failed value holds back nothing, and neither does a foreign group that cannot be confined: it is
/// reported, and its processes are killed if the step says so.
/// Domain: `before` is the observed layout; `machine` is the set that plan() was given.
[[nodiscard]] PlanResult apply_plan(Cgroups& cgroups, const Plan& steps, const Layout& before,
                                    const Layout& after, const CpuSet& machine,
                                    const StepWatcher& watcher = {});

}  // namespace pinfold::enforce
