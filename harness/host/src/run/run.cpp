#include "pinfold/harness/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "guest/guest_coverage.hpp"
#include "pinfold/harness/kept_guest.hpp"
#include "pinfold/harness/open_session.hpp"
#include "pinfold/harness/qemu_command.hpp"
#include "steps/step_runner.hpp"

namespace pinfold::harness {
namespace {

/// The exit code that the agent uses after all results. Not 0, because firmware may write that.
constexpr int kEndCode = 16;

/// Adds a step to the report, followed by the tests that its program has reported.
void add_step(StepResult step, const RunOptions& options, ScenarioResult& result) {
  const std::vector<StepResult> tests = std::exchange(step.tests, {});
  result.steps.push_back(std::move(step));
  options.on_step(result.steps.back());
  for (const StepResult& test : tests) {
    result.steps.push_back(test);
    options.on_step(test);
  }
}

/// Keeps the guest if a step failed that should have succeeded.
void keep_if_failed(const Scenario& scenario, const RunOptions& options, GuestSession& session,
                    ScenarioResult& result) {
  const bool failed = result.verdict == Verdict::kFailed || result.verdict == Verdict::kOutOfMemory;
  if (!options.keep || !failed || result.ok()) return;
  std::string why = "QEMU restores no machine with hardware that was plugged in";
  if (!plugs_hardware(scenario, std::min(result.steps.size(), scenario.steps.size()))) {
    const auto kept = keep_guest(session, result);
    why = kept ? "" : kept.error().message;
  }
  result.notes.push_back(why.empty() ? fmt::format("the guest is kept: pinfold-harness attach '{}'",
                                                   full_name(scenario))
                                     : "the guest is not kept: " + why);
}

/// Changes the verdict if a step failed because memory ran out.
void see_out_of_memory(const GuestSession& session, ScenarioResult& result) {
  if (result.verdict == Verdict::kFailed &&
      classify(Trouble::kEnded, session.vm.console()) == Verdict::kOutOfMemory) {
    result.verdict = Verdict::kOutOfMemory;
  }
}

/// Ends the machine; its exit status shows that it ran to its end.
void end(const Scenario& scenario, GuestSession& session, ScenarioResult& result) {
  const int exit_status = exit_status_for(scenario.machine.platform.arch, kEndCode);
  auto ended = session.vm.quit(kEndCode, exit_status, std::chrono::seconds(20));
  const bool passed = result.verdict == Verdict::kPassed;
  if (!ended && passed) {
    result.verdict = classify(ended.error().trouble, session.vm.console());
    result.message = "ending the machine: " + ended.error().message;
  }
  if (ended && passed) return;
  result.console = end_of_console(session.vm.console());
  see_out_of_memory(session, result);
}

/// Runs the steps until one fails. Returns false if the machine failed; `result` then has the
/// reason.
bool run_steps(const Scenario& scenario, const RunOptions& options, GuestSession& session,
               ScenarioResult& result) {
  StepRunner runner(scenario, options, session);
  const auto conclude = [&](const VmFailure& failure, const std::string& doing) {
    result.verdict = classify(failure.trouble, session.vm.console());
    result.message = fmt::format("{}: {}", doing, failure.message);
    result.console = end_of_console(session.vm.console());
    return false;
  };
  if (auto ready = runner.prepare(); !ready) return conclude(ready.error(), "preparing the guest");
  result.verdict = Verdict::kPassed;
  for (std::size_t i = 0; i < scenario.steps.size(); ++i) {
    const ScenarioStep& step = scenario.steps[i];
    const Clock::time_point begin = Clock::now();
    auto done = runner.run(step);
    const std::string where = fmt::format("step {} ({})", i + 1, step.title);
    if (!done) return conclude(done.error(), where);
    done->title = step.title;
    done->elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - begin);
    const bool ok = done->ok;
    if (!ok) {
      result.verdict = Verdict::kFailed;
      result.message = where + ": " + done->message;
    }
    add_step(std::move(*done), options, result);
    if (!ok) break;
  }
  return true;
}

void run_in(GuestSession session, const Scenario& scenario, const RunOptions& options,
            SharedGuest& shared, ScenarioResult& result) {
  if (!run_steps(scenario, options, session, result)) return;
  see_out_of_memory(session, result);
  keep_if_failed(scenario, options, session, result);
  if (!options.coverage.empty()) {
    const auto collected = collect_coverage(
        session.vm, options.coverage / folder_name(scenario.name, scenario.machine.platform));
    if (!collected) result.notes.push_back("no coverage: " + collected.error().message);
  }
  if (shared.is_wanted && result.ok()) {
    shared.session = std::move(session);
  } else {
    end(scenario, session, result);
  }
}

}  // namespace

ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options,
                            SharedGuest& shared) {
  const Clock::time_point begin = Clock::now();
  ScenarioResult result;
  result.name = scenario.name;
  result.description = scenario.description;
  result.machine = scenario.machine;
  result.expected = scenario.verdict;
  result.because = scenario.because;
  if (!scenario.skipped.empty()) {
    result.verdict = Verdict::kSkipped;
    result.message = scenario.skipped;
    return result;
  }
  const Arch arch = scenario.machine.platform.arch;
  if (needs_product(scenario) && options.parts_for(arch).product.empty()) {
    result.message = fmt::format(
        "the scenario needs the pinfold command for {}, which was not given", to_string(arch));
    return result;
  }
  if (!scenario.runtime.empty() && options.cri_client.empty()) {
    result.message = "the scenario needs the program pinfold-cri, which was not built";
    return result;
  }
  if (auto session = open_session(scenario, options, shared, result)) {
    run_in(std::move(*session), scenario, options, shared, result);
  }
  result.elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - begin);
  return result;
}

}  // namespace pinfold::harness
