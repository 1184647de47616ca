#pragma once

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "call.hpp"
#include "callbacks.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/socket/node_session.hpp"

/// The data of a pinfold_node between calls. It holds no lock and no state: each call opens an
/// agent, or asks the service that has one.
struct pinfold_node {
  pinfold::Machine machine;
  /// The kernel's list of online CPUs when `machine` was discovered; "" if the caller passed it.
  std::string online;
  pinfold::Config config;
  /// The file that the configuration was read from; "": the one in the state directory; nullopt:
  /// none, the caller passed its text.
  std::optional<std::string> config_file;
  pinfold::agent::AgentOptions agent_options;
  std::vector<pinfold::capi::HintCallbacks> hint_providers;
  /// True if the cgroups are not this kernel's; then process ids mean nothing on this machine.
  bool has_own_hierarchy = false;
  std::string socket = {};  ///< of a service; "": none is asked
  /// Whether a service must have the configuration and the machine that the options name. False if
  /// they name none, and after a reconfiguration of the service, which answers before it has
  /// switched.
  bool names_config = false;
  bool names_machine = false;
};

namespace pinfold::capi {

/// A lock that a call holds while it uses nodes: one call at a time per process. The lock of a
/// state directory excludes other processes, not other threads, and libcgroup has process-wide
/// tables.
class NodesLock {
 public:
  /// Waits for other threads. Errors: kBusy if this thread holds the lock, because it is in a
  /// callback.
  [[nodiscard]] static Result<NodesLock> acquire();
  /// Returns true if this thread holds the lock, because it is in a callback.
  [[nodiscard]] static bool is_held_here();

 private:
  struct Reset {
    void operator()(bool* is_held) const { *is_held = false; }
  };
  explicit NodesLock(bool& is_held);

  std::unique_lock<std::mutex> lock_;
  std::unique_ptr<bool, Reset> is_held_;  ///< reset before the mutex is unlocked
};

/// Opens the session of one call: with the service that owns the state directory, or with its own
/// agent. If the machine was discovered, its own agent discovers it again after CPUs went offline
/// or came online. Errors: kUnsupported if a service owns the state directory, but could not call
/// the callbacks of the node.
[[nodiscard]] Result<socket::NodeSession> open_session(pinfold_node& node);
/// Returns where the parts of the node come from if it is reconfigured.
[[nodiscard]] verbs::NodeSource source_of(pinfold_node& node);

/// Makes the hint providers of a node for a machine.
[[nodiscard]] Node::Providers make_providers(const pinfold_node& node, const Machine& machine);
/// Returns the machine of the options, or discovers the current one.
[[nodiscard]] Result<Machine> current_machine(pinfold_node& node);

/// Logs each warning of a configuration or pod: "configuration: ...".
void log_warnings(const pinfold_node& node, std::string_view about,
                  const std::vector<std::string>& warnings);

/// Whether a call brings the kubelet's files up to date when it ends, or leaves the journal to the
/// next one while that is possible (agent::NodeAgent::leave_journal).
enum class AtEnd { kCheckpoint, kLeaveJournal };

/// Ends a call with its own agent; a service checkpoints by itself. Logs a failure as a warning
/// with the message of the error.
[[nodiscard]] std::optional<Error> end_call(socket::NodeSession& session, AtEnd at_end,
                                            const agent::LogSink& log);

/// Converts an error with an errno, of a callback or the kernel: ENOENT becomes kIo, because it
/// does not concern the pod, container or process that the caller named.
[[nodiscard]] Error about_system(Error error);
/// Does the same for every error from opening an agent, in a call about something on the node.
[[nodiscard]] Error about_node(Error error);

/// Returns the session's own agent, or a view of its service's current state. Errors: about_node().
[[nodiscard]] Result<const agent::NodeAgent*> view_of(socket::NodeSession& session);

/// Returns the code of a decision, and sets *error if it is not PINFOLD_OK.
[[nodiscard]] pinfold_code code_of(const std::optional<Error>& not_enforced, char** error);
[[nodiscard]] pinfold_code code_of(const Rejection& rejection, char** error);

/// Whether a call changes the state or the kernel.
enum class Access { kRead, kChange };

/// Checks that a node permits a call. Errors: kUnsupported for a change of a read-only node.
[[nodiscard]] Result<void> check_access(const pinfold_node& node, Access access);

/// Runs body(session). An exception other than CallbackFailure and a lack of memory makes the
/// outcome of a change unknown.
template <class Body>
Result<pinfold_code> call_body(socket::NodeSession& session, Access access, const char* intent,
                               char** error, Body&& body) {
  try {
    return body(session);
  } catch (const CallbackFailure& failure) {
    return fail(ErrorCode::kInvalidArgument, failure.what());
  } catch (const std::exception& thrown) {
    if (access == Access::kRead || is_out_of_memory(thrown)) throw;
    set_message(error, fmt::format("{}: {}", intent, thrown.what()));
    return PINFOLD_UNKNOWN;
  }
}

/// Runs body(NodeSession&) with a session of a node; error messages begin with `intent`. A call
/// that only reads also leaves the journal.
template <class Body>
pinfold_code with_session(pinfold_node* node, Access access, const char* intent, char** error,
                          Body&& body, AtEnd at_end = AtEnd::kCheckpoint) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    const auto run = [&]() -> Result<pinfold_code> {
      PINFOLD_TRY(require(node, "node"));
      PINFOLD_LET(const auto lock, NodesLock::acquire());
      PINFOLD_TRY(check_access(*node, access));
      PINFOLD_LET(auto session, open_session(*node).map_error(about_node));
      Result<pinfold_code> code = call_body(session, access, intent, error, body);
      const AtEnd ending = access == Access::kRead ? AtEnd::kLeaveJournal : at_end;
      const auto not_settled = end_call(session, ending, node->agent_options.log);
      if (!not_settled) return code;
      if (!code && agent::is_unknown_outcome(*not_settled)) {
        set_message(error, code.error().message + "; " + not_settled->message);
        return PINFOLD_UNKNOWN;
      }
      if (!code || *code != PINFOLD_OK) return code;
      set_message(error, not_settled->message);
      note_errno(not_settled->sys_errno);
      return PINFOLD_NOT_SETTLED;
    };
    PINFOLD_LET_WRAP(const auto code, run().map_error(about_system), intent);
    return code;
  });
}

/// Like with_session, for body(NodeSession&, pod UID) and an active pod. The session has a view.
template <class Body>
pinfold_code with_pod(pinfold_node* node, const char* pod_id, Access access, const char* intent,
                      char** error, Body&& body) {
  return with_session(node, access, intent, error,
                      [&](socket::NodeSession& session) -> Result<pinfold_code> {
                        PINFOLD_TRY(require(pod_id, "pod_id"));
                        PINFOLD_LET(const auto* const agent, view_of(session));
                        PINFOLD_LET(const auto uid, agent::find_pod_uid(*agent, pod_id));
                        return body(session, uid);
                      });
}

}  // namespace pinfold::capi
