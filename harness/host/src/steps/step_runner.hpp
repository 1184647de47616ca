#pragma once

#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/run_options.hpp"
#include "pinfold/harness/scenario.hpp"
#include "steps/step_context.hpp"

namespace pinfold::harness {

/// Turns the steps of a scenario into requests to the guest agent, and judges the replies.
class StepRunner {
 public:
  StepRunner(const Scenario& scenario, const RunOptions& options, GuestSession& session)
      : context_(scenario, options, session) {}

  /// Loads the scenario's modules, creates the disk and the product's cgroup root in the guest, and
  /// copies the scenario's files and the product's configuration.
  [[nodiscard]] VmResult<void> prepare();
  [[nodiscard]] VmResult<StepResult> run(const ScenarioStep& step);

  /// Returns what the runner knows after the steps so far, for a runner that continues from a saved
  /// guest.
  [[nodiscard]] Json memory() const;
  /// Restores what a result of memory() describes. Returns false for other JSON.
  [[nodiscard]] bool recall(const Json& memory);

 private:
  StepContext context_;
};

}  // namespace pinfold::harness
