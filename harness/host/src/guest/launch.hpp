#pragma once

#include <filesystem>
#include <optional>

#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/run_options.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/scenario_result.hpp"

/// Prepares, boots and restores machines.
namespace pinfold::harness {

/// Finds or makes everything that the machine needs; fills in `result` on failure.
[[nodiscard]] std::optional<Launch> prepare_launch(const Scenario& scenario,
                                                   const RunOptions& options,
                                                   ScenarioResult& result);
/// Boots or restores the machine.
[[nodiscard]] std::optional<GuestSession> open_launch(const Scenario& scenario,
                                                      const RunOptions& options,
                                                      const Launch& ready, ScenarioResult& result);

/// Verifies the guest's machine. Returns false if it differs; `result` then has the reason.
[[nodiscard]] VmResult<bool> check_guest(const Scenario& scenario, const RunOptions& options,
                                         GuestSession& session, ScenarioResult& result);

/// Runs each of the scenario's kubelets once in the guest: a program that is not a kubelet, or
/// cannot run there, is found before the first step, and an unknown version is noted. Returns false
/// if there is such a program; `result` then has the reason.
[[nodiscard]] bool check_kubelet_versions(const Scenario& scenario, const RunOptions& options,
                                          GuestSession& session, ScenarioResult& result);

/// Starts QEMU from a snapshot and resumes the machine.
[[nodiscard]] VmResult<GuestSession> restore_machine(const Launch& launch,
                                                     const std::filesystem::path& snapshot,
                                                     int interrupt_fd, Milliseconds limit);

/// Returns a time limit multiplied by the time scale of the run.
[[nodiscard]] inline Milliseconds scaled(const RunOptions& options, Milliseconds limit) {
  return Milliseconds(
      static_cast<std::int64_t>(static_cast<double>(limit.count()) * options.time_scale));
}
/// Returns the time limit to restore a machine, and for its first reply.
[[nodiscard]] Milliseconds ready_limit(const VmMachine& machine, const RunOptions& options);

}  // namespace pinfold::harness
