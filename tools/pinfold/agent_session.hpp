#pragma once

#include <optional>
#include <string>
#include <variant>

#include "agent_options.hpp"
#include "pinfold/socket/client.hpp"

namespace pinfold::tools {

/// Also if links lead to it.
[[nodiscard]] bool is_same_directory(const std::string& a, const std::string& b);

/// Errors: kInvalidArgument if an option contradicts what the service runs with.
[[nodiscard]] Result<void> check_options(const AgentOptions& options, const service::Hello& hello);
/// Errors: kInvalidArgument if --cgroup-root or --no-enforce contradicts what the service runs
/// with.
[[nodiscard]] Result<void> check_cgroup_options(const AgentOptions& options,
                                                const service::Hello& hello);

/// --socket, for a command that changes the state, or for one that only reads.
[[nodiscard]] cli::Option socket_option(AgentOptions& options);

/// What only a service knows of its node, and says of itself.
struct ServiceView {
  Profile profile = Profile::kFixed;
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
  std::optional<service::Comparison> comparison;  ///< none: it does not compare
  std::optional<service::ServiceReport> report;   ///< none: it is older than this
};
/// That of the service, if one runs for the state directory: nothing waits for it long. A failure
/// is a warning on standard error.
[[nodiscard]] std::optional<ServiceView> read_service(const AgentOptions& options);

/// A node agent that a command changes: the service's, if one runs for the state directory, else
/// one that the command opens itself. If the service stops before it has done a request, the
/// session goes on without it: with the next service, or with an agent of its own.
class AgentSession {
 public:
  /// Prints warnings to standard error. Errors: those of open_agent; kInvalidArgument if an option
  /// contradicts what the service runs with; those of Client::connect.
  [[nodiscard]] static Result<AgentSession> open(const AgentOptions& options);

  /// The agent as it was when the session was opened or last settled. Only to read.
  [[nodiscard]] const agent::NodeAgent& view() const { return agent_; }
  [[nodiscard]] bool uses_service() const { return client_.has_value(); }

  /// Errors: those of service::execute and Client::call; kBusy if the service has no time; those of
  /// open. After a change it notes it: see note_change.
  [[nodiscard]] Result<service::Answer> execute(const service::Action& action);
  /// The same for an action with this kind of answer.
  template <class Expected>
  [[nodiscard]] Result<Expected> execute(const service::Action& action) {
    PINFOLD_LET(auto answer, execute(action));
    if (auto* const expected = std::get_if<Expected>(&answer)) return std::move(*expected);
    return fail(ErrorCode::kInternal, "the service gave another kind of answer");
  }
  /// Makes what was stored durable in the kubelet's files, and brings view() up to date. If the
  /// first fails, prints a warning and returns the reason. Errors: those of open_agent.
  [[nodiscard]] Result<std::optional<std::string>> settle();

 private:
  AgentSession(const AgentOptions& options, agent::NodeAgent agent,
               std::optional<service::Client> client, agent::AgentOptions reader)
      : options_(options),
        agent_(std::move(agent)),
        client_(std::move(client)),
        reader_(std::move(reader)) {}
  [[nodiscard]] Result<service::Answer> execute_once(const service::Action& action);
  [[nodiscard]] static Result<AgentSession> open_any(const AgentOptions& options);
  [[nodiscard]] static Result<std::optional<AgentSession>> open_remote(const AgentOptions& options);

  AgentOptions options_;
  agent::NodeAgent agent_;  ///< with a client: only reads
  std::optional<service::Client> client_;
  agent::AgentOptions reader_;  ///< how the state of the service is read
};

}  // namespace pinfold::tools
