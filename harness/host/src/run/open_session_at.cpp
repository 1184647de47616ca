#include <fmt/format.h>

#include <algorithm>

#include "guest/launch.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/open_session.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/scenario_sum.hpp"
#include "pinfold/harness/snapshot.hpp"
#include "steps/step_runner.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxStepMemory = std::size_t{16} << 20U;

/// Returns a key for the state before each step up to `step`, from everything that led to it. The
/// first key is that of step 1.
std::vector<std::string> state_keys(const Scenario& scenario, std::size_t step,
                                    const Launch& launch) {
  Fingerprint fingerprint;
  fingerprint.add(launch.snapshot_key).add(launch.load->bytes);
  for (const GuestLoad::File& file : launch.load->files) fingerprint.add(file.path);
  for (const std::string& module : scenario.modules) fingerprint.add(module);
  add_files_to(fingerprint, scenario);
  std::vector<std::string> keys = {fingerprint.to_string()};
  for (std::size_t i = 0; i + 1 < step; ++i) {
    add_step_to(fingerprint, scenario.steps[i]);
    keys.push_back(fingerprint.to_string());
  }
  return keys;
}

fs::path states_folder() { return cache_folder() / "snapshots"; }
fs::path memory_file(const std::string& key) { return states_folder() / (key + ".memory"); }

/// A guest before a step, and what its runner knew.
struct State {
  GuestSession session;
  std::size_t step = 1;
  Json memory;
};

/// Returns the nearest saved state at or before step `step`; QEMU cannot restore one with plugged
/// hardware.
std::optional<State> nearest_state(const Scenario& scenario, const std::vector<std::string>& keys,
                                   const RunOptions& options, const Launch& launch) {
  const SnapshotStore store(states_folder());
  for (std::size_t step = keys.size(); step > 0; --step) {
    const std::string& key = keys[step - 1];
    const auto snapshot = plugs_hardware(scenario, step - 1) ? std::nullopt : store.find(key);
    const auto text =
        snapshot ? read_file(memory_file(key), kMaxStepMemory) : Result<std::string>("");
    if (!snapshot || !text) continue;
    auto session = restore_machine(launch, *snapshot, options.interrupt_fd,
                                   ready_limit(scenario.machine, options));
    if (session) return State{std::move(*session), step, Json::parse(*text, nullptr, false)};
    store.remove(key);
    options.on_progress("a snapshot could not be used: " + session.error().message);
  }
  return std::nullopt;
}

/// Runs the steps from number `from` (0: also prepares the guest) up to but not including `step`.
/// Returns false if one fails; `result` then has the reason.
bool run_steps_before(const Scenario& scenario, std::size_t from, std::size_t step,
                      const RunOptions& options, StepRunner& runner, const GuestSession& session,
                      ScenarioResult& result) {
  const auto conclude = [&](const std::string& where, const std::string& why) {
    result.verdict = Verdict::kFailed;
    result.message = where + ": " + why;
    result.console = end_of_console(session.vm.console());
    return false;
  };
  if (from == 0) {
    if (auto ready = runner.prepare(); !ready) {
      return conclude("preparing the guest", ready.error().message);
    }
  }
  for (std::size_t i = from == 0 ? 0 : from - 1; i + 1 < step; ++i) {
    const std::string where = fmt::format("step {} ({})", i + 1, scenario.steps[i].title);
    options.on_progress(where);
    const auto done = runner.run(scenario.steps[i]);
    if (!done) return conclude(where, done.error().message);
    if (!done->ok) return conclude(where, done->message);
  }
  return true;
}

void save_state(const std::string& key, const StepRunner& runner, GuestSession& session,
                const RunOptions& options) {
  const auto complain = [&](const std::string& why) {
    options.on_progress("its state could not be saved: " + why);
  };
  if (const auto saved = SnapshotStore(states_folder()).save(key, session.vm); !saved) {
    return complain(saved.error().message);
  }
  if (const auto kept = write_file(memory_file(key), runner.memory().dump()); !kept) {
    complain(kept.error().message);
  }
}

}  // namespace

std::optional<GuestSession> open_session_at(const Scenario& scenario, std::size_t step,
                                            const RunOptions& options, ScenarioResult& result) {
  const auto launch = prepare_launch(scenario, options, result);
  if (!launch) return std::nullopt;
  const std::vector<std::string> keys = state_keys(scenario, step, *launch);
  std::optional<State> state;
  if (options.use_snapshots) state = nearest_state(scenario, keys, options, *launch);
  if (state && state->step == step) {
    result.restored = true;
    return std::move(state->session);
  }
  std::optional<GuestSession> session;
  if (state) {
    options.on_progress(fmt::format("from the saved state before step {}", state->step));
    session = std::move(state->session);
  } else {
    session = open_launch(scenario, options, *launch, result);
  }
  if (!session) return std::nullopt;
  StepRunner runner(scenario, options, *session);
  if (state && !runner.recall(state->memory)) {
    result.verdict = Verdict::kHarnessError;
    result.message =
        fmt::format("'{}': expected what the steps before the saved state have reported",
                    memory_file(keys[state->step - 1]).string());
    return std::nullopt;
  }
  if (!run_steps_before(scenario, state ? state->step : 0, step, options, runner, *session, result))
    return std::nullopt;
  if (options.use_snapshots && !plugs_hardware(scenario, step - 1)) {
    save_state(keys.back(), runner, *session, options);
  }
  return session;
}

}  // namespace pinfold::harness
