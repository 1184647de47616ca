#pragma once

#include <optional>

#include "pinfold/harness/session.hpp"

/// The two parts of open_session.
namespace pinfold::harness {

/// Finds or makes everything that the machine needs; fills in `result` on failure.
[[nodiscard]] std::optional<Launch> prepare_launch(const Scenario& scenario,
                                                   const RunOptions& options,
                                                   ScenarioResult& result);
/// Boots or restores the machine.
[[nodiscard]] std::optional<Session> open_launch(const Scenario& scenario,
                                                 const RunOptions& options, const Launch& ready,
                                                 ScenarioResult& result);

/// Returns a time limit multiplied by the time scale of the run.
[[nodiscard]] inline Milliseconds scaled(const RunOptions& options, Milliseconds limit) {
  return Milliseconds(
      static_cast<std::int64_t>(static_cast<double>(limit.count()) * options.time_scale));
}
/// Returns the time limit to restore a machine, and for its first reply.
[[nodiscard]] Milliseconds ready_limit(const VmMachine& machine, const RunOptions& options);

}  // namespace pinfold::harness
