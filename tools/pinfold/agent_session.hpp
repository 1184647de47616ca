#pragma once

#include <optional>
#include <string>
#include <variant>

#include "agent_options.hpp"
#include "pinfold/socket/client.hpp"

namespace pinfold::tools {

/// Returns whether two paths lead to the same directory, following links.
[[nodiscard]] bool is_same_directory(const std::string& a, const std::string& b);

/// Checks the options against those of the service. Errors: kInvalidArgument if one contradicts
/// them.
[[nodiscard]] Result<void> check_options(const AgentOptions& options, const socket::Hello& hello);
/// Checks only --cgroup-root and --no-enforce. Errors: kInvalidArgument if one contradicts the
/// service.
[[nodiscard]] Result<void> check_cgroup_options(const AgentOptions& options,
                                                const socket::Hello& hello);

/// --socket, for a command that changes the state, or for one that only reads.
[[nodiscard]] cli::Option socket_option(AgentOptions& options);

/// Information about a node and its service that only the service has.
struct ServiceView {
  Profile profile = Profile::kFixed;
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
  std::optional<verbs::Comparison> comparison;  ///< nullopt: it does not compare
  std::optional<verbs::ServiceReport> report;   ///< nullopt: an older service
};
/// Asks the service, if one runs for the state directory, with a short timeout. A failure is a
/// warning on standard error.
[[nodiscard]] std::optional<ServiceView> read_service(const AgentOptions& options);

/// A node agent that a command changes: the service's if one runs for the state directory, else one
/// that the command opens itself. If the service stops before it has done a request, the session
/// continues with the next service, or opens an agent itself.
class AgentSession {
 public:
  /// Opens a session, and prints warnings to standard error. Errors: those of open_agent;
  /// kInvalidArgument if an option contradicts those of the service; those of Client::connect.
  [[nodiscard]] static Result<AgentSession> open(const AgentOptions& options);

  /// The agent when the session was opened or last settled; read-only.
  [[nodiscard]] const agent::NodeAgent& view() const { return agent_; }
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
  /// former fails, prints a warning and returns the reason. Errors: those of open_agent.
  [[nodiscard]] Result<std::optional<std::string>> settle();

 private:
  AgentSession(const AgentOptions& options, agent::NodeAgent agent,
               std::optional<socket::Client> client, agent::AgentOptions reader)
      : options_(options),
        agent_(std::move(agent)),
        client_(std::move(client)),
        reader_(std::move(reader)) {}
  [[nodiscard]] Result<verbs::Answer> execute_once(const verbs::Action& action);
  [[nodiscard]] static Result<AgentSession> open_any(const AgentOptions& options);
  [[nodiscard]] static Result<std::optional<AgentSession>> open_remote(const AgentOptions& options);

  AgentOptions options_;
  agent::NodeAgent agent_;  ///< only reads if there is a client
  std::optional<socket::Client> client_;
  agent::AgentOptions reader_;  ///< options to read the state of the service
};

}  // namespace pinfold::tools
