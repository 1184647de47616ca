#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "agent/agent_arguments.hpp"
#include "agent/read_node.hpp"
#include "pinfold/socket/node_session.hpp"
#include "pinfold/verbs/reconfigure.hpp"

/// The agent and the session that the options of a command describe.
namespace pinfold::tools {

/// Opens the agent that the options describe. Prints warnings to standard error.
[[nodiscard]] Result<agent::NodeAgent> open_agent(const AgentArguments& options);

/// Checks the options against those of the service. Errors: kInvalidArgument if one contradicts
/// them.
[[nodiscard]] Result<void> check_options(const AgentArguments& options, const socket::Hello& hello);
/// Checks only --cgroup-root and --no-enforce. Errors: kInvalidArgument if one contradicts the
/// service.
[[nodiscard]] Result<void> check_cgroup_options(const AgentArguments& options,
                                                const socket::Hello& hello);

/// Declares --socket, for a command that changes the state, or for one that only reads.
[[nodiscard]] cli::Option socket_option(AgentArguments& options);

/// Information about a node and its service that only the service has.
struct ServiceView {
  Profile profile = Profile::kFixed;
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
  std::optional<verbs::Comparison> comparison;  ///< nullopt: it does not compare
  std::optional<verbs::ServiceReport> report;   ///< nullopt: an older service
};
/// Asks the service, if one runs for the state directory, with a short timeout. A failure is a
/// warning on standard error.
[[nodiscard]] std::optional<ServiceView> read_service(const AgentArguments& options);

/// How a command that changes the node itself works without a service.
struct OwnAgent {
  std::function<Result<agent::NodeAgent>()> open;
  verbs::NodeSource source;
  bool is_required = false;  ///< the service is not asked
  /// Checks that the options do not contradict those of a service.
  std::function<Result<void>(const socket::Hello& hello)> check;
};

/// The session of a command: prints warnings to standard error.
class AgentSession {
 public:
  /// Opens a session. Errors: those of open_agent; kInvalidArgument if an option contradicts those
  /// of the service; those of socket::NodeSession::open.
  [[nodiscard]] static Result<AgentSession> open(const AgentArguments& options);
  /// Opens a session for Reconfigure or Defragment: one with a service has no view(). Errors: those
  /// of `own` and of socket::NodeSession::open.
  [[nodiscard]] static Result<AgentSession> open(const AgentArguments& options, OwnAgent own);

  /// See socket::NodeSession.
  [[nodiscard]] const agent::NodeAgent& view() const { return session_.view(); }
  [[nodiscard]] verbs::NodeParts node_parts() const { return session_.node_parts(); }
  [[nodiscard]] bool uses_service() const { return session_.uses_service(); }

  /// Executes an action; after a change calls note_change(). Errors: those of
  /// socket::NodeSession::execute.
  [[nodiscard]] Result<verbs::Answer> execute(const verbs::Action& action);
  /// Executes an action with this type of answer.
  template <class Expected>
  [[nodiscard]] Result<Expected> execute(const verbs::Action& action) {
    return verbs::expect<Expected>(execute(action));
  }
  /// Makes stored changes durable in the kubelet's files, and brings view() up to date. If the
  /// former fails, prints a warning and returns the error. Errors: those of open_agent.
  [[nodiscard]] Result<std::optional<Error>> checkpoint_journal();

 private:
  AgentSession(socket::NodeSession session, bool is_dry_run)
      : session_(std::move(session)), is_dry_run_(is_dry_run) {}

  socket::NodeSession session_;
  bool is_dry_run_ = false;
};

/// Reports that a decision is stored but not yet applied to the kernel; returns kNo.
ExitStatus report_not_enforced(const Error& error);

}  // namespace pinfold::tools
