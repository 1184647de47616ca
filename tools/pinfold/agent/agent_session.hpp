#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "agent/agent_options.hpp"
#include "pinfold/socket/client.hpp"
#include "pinfold/verbs/execute.hpp"

namespace pinfold::tools {

/// Returns whether two paths lead to the same directory, following links.
[[nodiscard]] bool is_same_directory(const std::string& a, const std::string& b);

/// Checks the options against those of the service. Errors: kInvalidArgument if one contradicts
/// them.
[[nodiscard]] Result<void> check_options(const AgentArguments& options, const socket::Hello& hello);
/// Checks only --cgroup-root and --no-enforce. Errors: kInvalidArgument if one contradicts the
/// service.
[[nodiscard]] Result<void> check_cgroup_options(const AgentArguments& options,
                                                const socket::Hello& hello);

/// --socket, for a command that changes the state, or for one that only reads.
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

/// A node agent that a command changes: the service's if one runs for the state directory, else one
/// that the command opens itself. If the service stops before it has done a request, the session
/// continues with the next service, or opens an agent itself.
class AgentSession {
 public:
  /// Opens a session, and prints warnings to standard error. Errors: those of open_agent;
  /// kInvalidArgument if an option contradicts those of the service; those of Client::connect.
  [[nodiscard]] static Result<AgentSession> open(const AgentArguments& options);
  /// Opens a session for Reconfigure or Defragment: one with a service has no view(). Errors: those
  /// of `own` and of Client::connect.
  [[nodiscard]] static Result<AgentSession> open(const AgentArguments& options, OwnAgent own);

  /// The agent when the session was opened or checkpoint_journal() was last called; read-only.
  [[nodiscard]] const agent::NodeAgent& view() const { return *agent_; }
  /// What the node is made of now, without a view.
  [[nodiscard]] verbs::NodeParts node_parts() const;
  [[nodiscard]] bool uses_service() const { return client_.has_value(); }

  /// Executes an action; after a change calls note_change(). Errors: those of execute and
  /// Client::call; kBusy if the service has no time; those of open.
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
  AgentSession(const AgentArguments& options, std::optional<OwnAgent> own)
      : options_(options), own_(std::move(own)) {}
  [[nodiscard]] Result<verbs::Answer> execute_once(const verbs::Action& action);
  [[nodiscard]] Result<void> connect_or_open();
  [[nodiscard]] Result<bool> connect();
  [[nodiscard]] Result<void> view_service();
  [[nodiscard]] Result<agent::NodeAgent> open_own() const;

  AgentArguments options_;
  std::optional<OwnAgent> own_;            ///< of a session without a view
  std::optional<agent::NodeAgent> agent_;  ///< only reads if there is a client
  std::optional<socket::Client> client_;
  agent::AgentOptions reader_;  ///< options to read the state of the service
};

/// Reports that a decision is stored but not yet applied to the kernel; returns kNo.
ExitStatus report_not_enforced(const Error& error);

}  // namespace pinfold::tools
