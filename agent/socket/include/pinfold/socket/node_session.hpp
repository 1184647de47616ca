#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pinfold/socket/client.hpp"
#include "pinfold/socket/unix_socket.hpp"
#include "pinfold/verbs/execute.hpp"

namespace pinfold::socket {

/// How a program reaches the node agent of a state directory.
struct NodeSessionOptions {
  std::string socket = kDefaultSocket;  ///< "": no service is asked
  /// Options of the read-only agent that views a service's state, with the service's groups and
  /// profile.
  agent::AgentOptions reader;
  /// Opens the program's own agent, if no service runs for the state directory.
  std::function<Result<agent::NodeAgent>()> open;
  /// Where the parts of a node come from if the program's own agent is reconfigured.
  verbs::NodeSource source = {};
  /// Checks that the program's options do not contradict a service.
  std::function<Result<void>(const Hello& hello)> check;
  /// How long a request may wait for others, and what ends the wait for a service.
  checkpoint::LockWait wait = {};
};

/// A node agent that a program changes: the service's if one runs for the state directory, else one
/// that the program opens itself. If the service stops before it has executed a request, the
/// session continues with the next service, or opens an agent itself.
class NodeSession {
 public:
  /// Errors: those of Client::connect, of `check` and `open`.
  [[nodiscard]] static Result<NodeSession> open(NodeSessionOptions options);

  /// Returns the program's own agent, or the state of the service at the last refresh(), which must
  /// have been called; read-only.
  [[nodiscard]] const agent::NodeAgent& view() const { return **agent_; }
  /// Returns the program's own agent; nullptr if a service works for it.
  [[nodiscard]] agent::NodeAgent* own() { return client_ || !*agent_ ? nullptr : &**agent_; }
  /// Returns the node's current machine and configuration, without a view.
  [[nodiscard]] verbs::NodeParts node_parts() const;
  [[nodiscard]] bool uses_service() const { return client_ != nullptr; }

  /// Executes an action. Errors: those of execute and Client::call; kBusy if the service is
  /// overloaded; those of open and refresh.
  [[nodiscard]] Result<verbs::Answer> execute(const verbs::Action& action);
  /// Executes an action with this type of answer.
  template <class Expected>
  [[nodiscard]] Result<Expected> execute(const verbs::Action& action) {
    return verbs::expect<Expected>(execute(action));
  }
  /// Makes view(), or brings it up to date. Errors: those of agent::open_agent.
  [[nodiscard]] Result<void> refresh();

 private:
  explicit NodeSession(NodeSessionOptions options) : options_(std::move(options)) {}
  [[nodiscard]] Result<void> connect_or_open();
  [[nodiscard]] Result<bool> connect(bool has_view);

  NodeSessionOptions options_;
  /// Only reads if there is a client. It keeps its address, so that view() stays valid.
  std::unique_ptr<std::optional<agent::NodeAgent>> agent_ =
      std::make_unique<std::optional<agent::NodeAgent>>();
  std::unique_ptr<Client> client_;
};

/// A configuration that a program asks for.
struct NamedConfig {
  std::string option;  ///< its name for messages; "": only the profile is asked for
  Config config;
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
};
struct NamedMachine {
  std::string option;
  Machine machine;
};
/// The parts that a program asks for; nullopt: those of the service.
struct NamedParts {
  std::optional<NamedConfig> config;
  std::optional<NamedMachine> machine;
  std::optional<std::string> cgroup_root;
  std::string cgroup_root_option;  ///< with its value, for messages
  std::string no_enforce_option;   ///< "": not asked for
};
/// Checks what a program asks for against the service. Errors: kInvalidArgument, "OPTION: the
/// service at 'SOCKET' has the state directory 'DIRECTORY', and runs with another configuration".
[[nodiscard]] Result<void> check_named(const NamedParts& named, const std::string& socket,
                                       const std::string& state_dir, const Hello& hello);

/// Returns whether two paths lead to the same directory, following links.
[[nodiscard]] bool is_same_directory(const std::string& a, const std::string& b);

}  // namespace pinfold::socket
