// How it works. A scenario gets its guest from the cheapest source that works:
//  1. the guest of the previous scenario on the same worker, reset by its agent (SharedGuest), if
//     machine, kernel, runtime, programs and modules are equal and the agent finds no difference
//     from the state that it recorded;
//  2. a snapshot with the same key (snapshot.hpp);
//  3. a boot, repeated once if the guest never reached its init. Its snapshot is then saved.
// Programs are loaded only after that, through memory that host and guest share and that is all
// zero in snapshots. So machines that differ only in their programs can share a snapshot.
//
// Invariants: no scenario starts before the hardware of its guest has been compared with its
// machine; a snapshot that cannot be restored is removed; the lock on the snapshot's key makes
// concurrent runs boot a machine only once. The shared guest is taken out before it is used and put
// back only by a scenario that ended as expected, so a broken guest is never reused. If a reset
// fails, the next source is tried and the result has a note.
//
// Cost for a group of scenarios (scenario_queue.hpp): one boot or restore for each worker, and a
// reset for every further scenario.

#include "pinfold/harness/open_session.hpp"

#include <utility>

#include "guest/launch.hpp"

namespace pinfold::harness {
namespace {

/// Makes the guest record its state for a reset. If that fails, it is not shared.
void remember(const Scenario& scenario, const RunOptions& options, GuestSession& session,
              SharedGuest& shared, ScenarioResult& result) {
  const auto reply =
      session.vm.request({{"op", "remember"}}, ready_limit(scenario.machine, options));
  if (reply && reply->value("ok", false)) return;
  shared.is_wanted = false;
  result.notes.push_back(
      "the guest is not shared: " +
      (reply ? reply->value("error", "no reason given") : reply.error().message));
}

/// Resets the guest of the previous scenario; nullopt if that is not possible, and `result` notes
/// why.
std::optional<GuestSession> reset(const Scenario& scenario, const RunOptions& options,
                                  const Launch& ready, GuestSession session,
                                  ScenarioResult& result) {
  const auto give_up = [&](const std::string& why) {
    result.notes.push_back("not in the guest of the previous scenario: " + why);
    return std::nullopt;
  };
  if (session.launch.snapshot_key != ready.snapshot_key ||
      session.launch.load->bytes != ready.load->bytes) {
    return give_up("its files have changed");
  }
  const auto reply = session.vm.request({{"op", "reset"}}, ready_limit(scenario.machine, options));
  if (!reply) return give_up(reply.error().message);
  if (!reply->value("ok", false)) return give_up(reply->value("error", "no reason given"));
  const auto same = check_guest(scenario, options, session, result);
  if (!same || !*same) return give_up(same ? result.message : same.error().message);
  if (!check_kubelet_versions(scenario, options, session, result)) return give_up(result.message);
  result.reset = true;
  session.vm.clear_console();
  return session;
}

}  // namespace

std::optional<GuestSession> open_session(const Scenario& scenario, const RunOptions& options,
                                         SharedGuest& shared, ScenarioResult& result) {
  const Clock::time_point begin = Clock::now();
  const auto ready = prepare_launch(scenario, options, result);
  auto left = std::exchange(shared.session, std::nullopt);
  std::optional<GuestSession> session;
  if (ready && left) session = reset(scenario, options, *ready, std::move(*left), result);
  if (ready && !session) {
    session = open_launch(scenario, options, *ready, result);
    if (session && shared.is_wanted) remember(scenario, options, *session, shared, result);
  }
  result.until_ready = std::chrono::duration_cast<Milliseconds>(Clock::now() - begin);
  return session;
}

}  // namespace pinfold::harness
