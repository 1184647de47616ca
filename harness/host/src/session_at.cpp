#include <fmt/format.h>

#include <algorithm>

#include "launch.hpp"
#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/snapshot.hpp"
#include "step_runner.hpp"

/// The machine of a scenario before one of its steps.
namespace pinfold::harness {
namespace {

/// What a step does, with the files that it names.
void add_step_to(Fingerprint& fingerprint, const Step& step) {
  fingerprint.add(step.definition);
  if (const auto* admit = std::get_if<AdmitStep>(&step.action)) fingerprint.add(admit->manifest);
  if (const auto* pod = std::get_if<RunPodStep>(&step.action)) fingerprint.add(pod->manifest);
  if (const auto* restart = std::get_if<RestartStep>(&step.action);
      restart != nullptr && restart->kubelet) {
    fingerprint.add(restart->kubelet->config.dump());
  }
}

/// Of the state before a step: all that has made it.
std::string state_key(const Scenario& scenario, std::size_t step, const Launch& launch) {
  Fingerprint fingerprint;
  fingerprint.add(launch.snapshot_key).add(launch.load->bytes);
  for (const GuestLoad::File& file : launch.load->files) fingerprint.add(file.path);
  fingerprint.add(scenario.kubelet.config.dump());
  for (const GuestFile& file : scenario.files) fingerprint.add(file.guest_path).add(file.text);
  for (std::size_t i = 0; i + 1 < step; ++i) add_step_to(fingerprint, scenario.steps[i]);
  return fingerprint.to_string();
}

/// Runs the steps before number `step`. False if one fails; `result` then has the reason.
bool run_steps_before(const Scenario& scenario, std::size_t step, const RunOptions& options,
                      Session& session, ScenarioResult& result) {
  StepRunner runner(scenario, options, session);
  const auto conclude = [&](const std::string& where, const std::string& why) {
    result.verdict = Verdict::kFailed;
    result.message = where + ": " + why;
    result.console = end_of_console(session.vm.console());
    return false;
  };
  if (auto ready = runner.prepare(); !ready) {
    return conclude("preparing the guest", ready.error().message);
  }
  for (std::size_t i = 0; i + 1 < step; ++i) {
    const std::string where = fmt::format("step {} ({})", i + 1, scenario.steps[i].title);
    options.on_progress(where);
    const auto done = runner.run(scenario.steps[i]);
    if (!done) return conclude(where, done.error().message);
    if (!done->ok) return conclude(where, done->message);
  }
  return true;
}

}  // namespace

bool plugs_hardware(const Scenario& scenario, std::size_t count) {
  const auto end = scenario.steps.begin() + static_cast<std::ptrdiff_t>(count);
  return std::any_of(scenario.steps.begin(), end, [](const Step& step) {
    return std::holds_alternative<PlugStep>(step.action);
  });
}

std::optional<Session> open_session_at(const Scenario& scenario, std::size_t step,
                                       const RunOptions& options, ScenarioResult& result) {
  const auto launch = prepare_launch(scenario, options, result);
  if (!launch) return std::nullopt;
  const SnapshotStore store(cache_folder() / "snapshots");
  const std::string key = state_key(scenario, step, *launch);
  const bool can_save = options.use_snapshots && !plugs_hardware(scenario, step - 1);
  if (const auto snapshot = can_save ? store.find(key) : std::nullopt) {
    auto restored = restore_machine(*launch, *snapshot, options.interrupt_fd,
                                    ready_limit(scenario.machine, options));
    if (restored) {
      result.restored = true;
      return std::move(*restored);
    }
    store.remove(key);
    options.on_progress("a snapshot could not be used: " + restored.error().message);
  }
  auto session = open_launch(scenario, options, *launch, result);
  if (!session || !run_steps_before(scenario, step, options, *session, result)) return std::nullopt;
  if (const auto saved = can_save ? store.save(key, session->vm) : VmResult<void>(); !saved) {
    options.on_progress("its state could not be saved: " + saved.error().message);
  }
  return session;
}

}  // namespace pinfold::harness
