#include "pinfold/socket/node_session.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/outcome.hpp"

namespace pinfold::socket {
namespace {

/// How long a program retries while services stop one after another.
constexpr std::chrono::seconds kStopTime(30);

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// Returns the option that contradicts the service, and what the service does instead.
std::optional<std::pair<std::string, std::string>> find_contradiction(const NamedParts& named,
                                                                      const Hello& hello) {
  if (named.config) {
    const Config config =
        agent::with_profile_of(hello.config, named.config->config, named.config->profile_source);
    if (config.profile != hello.config.profile) {
      return {{fmt::format("profile '{}'", to_string(config.profile)),
               fmt::format("runs with '{}'", to_string(hello.config.profile))}};
    }
    if (!named.config->option.empty() && config != hello.config) {
      return {{named.config->option, "runs with another configuration"}};
    }
  }
  if (named.machine && named.machine->machine != hello.machine) {
    return {{named.machine->option, "runs with another machine"}};
  }
  if (!named.no_enforce_option.empty() && !hello.cgroup_root.empty()) {
    return {{named.no_enforce_option, fmt::format("enforces below '{}'", hello.cgroup_root)}};
  }
  if (named.cgroup_root && without_slash(*named.cgroup_root) != hello.cgroup_root) {
    return {{named.cgroup_root_option, hello.cgroup_root.empty()
                                           ? "enforces nothing"
                                           : fmt::format("runs with '{}'", hello.cgroup_root)}};
  }
  return std::nullopt;
}

}  // namespace

bool is_same_directory(const std::string& a, const std::string& b) {
  std::error_code failed;
  return a == b || std::filesystem::equivalent(a, b, failed);
}

Result<void> check_named(const NamedParts& named, const std::string& socket,
                         const std::string& state_dir, const Hello& hello) {
  const auto found = find_contradiction(named, hello);
  if (!found) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: the service at '{}' has the state directory '{}', and {}",
                          found->first, socket, state_dir, found->second));
}

Result<NodeSession> NodeSession::open(NodeSessionOptions options) {
  NodeSession session(std::move(options));
  PINFOLD_TRY(session.connect_or_open());
  return session;
}

Result<void> NodeSession::connect_or_open() {
  const bool has_view = agent_->has_value();
  client_.reset();
  agent_->reset();
  const bool asks_service = !options_.socket.empty();
  PINFOLD_LET(const bool is_connected, asks_service ? connect(has_view) : Result<bool>(false));
  if (is_connected) return {};
  auto agent = options_.open();
  if (!agent && asks_service && agent.error().code == ErrorCode::kBusy) {
    PINFOLD_LET(const bool has_started, connect(has_view));  // a service has started meanwhile
    if (has_started) return {};
  }
  if (!agent) return tl::unexpected(std::move(agent).error());
  agent_->emplace(*std::move(agent));
  return {};
}

/// Returns false if no service runs for the state directory.
Result<bool> NodeSession::connect(bool has_view) {
  PINFOLD_LET(auto client,
              Client::connect(options_.socket, Client::kAnswerTime, options_.wait.interrupted));
  if (!client || !is_same_directory(client->hello().state_dir, options_.reader.state_dir))
    return false;
  PINFOLD_TRY(options_.check(client->hello()));
  client_ = std::make_unique<Client>(*std::move(client));
  if (!has_view) return true;
  auto viewed = refresh();
  if (!viewed) client_.reset();
  PINFOLD_TRY(std::move(viewed));
  return true;
}

Result<void> NodeSession::refresh() {
  if (!client_) return {};
  const Hello& hello = client_->hello();
  agent::AgentOptions reader = options_.reader;
  reader.is_query = true;
  reader.profile_source = hello.profile_source;
  reader.enforce = !hello.cgroup_root.empty();
  reader.cgroup_root = hello.cgroup_root;
  PINFOLD_LET(auto agent, agent::open_agent(hello.machine, hello.config, std::move(reader)));
  agent_->emplace(std::move(agent));
  return {};
}

verbs::NodeParts NodeSession::node_parts() const {
  if (client_) return {client_->hello().machine, client_->hello().config};
  return {view().node().machine(), view().node().config()};
}

Result<verbs::Answer> NodeSession::execute(const verbs::Action& action) {
  if (!client_ && !*agent_) PINFOLD_TRY(connect_or_open());  // an earlier request lost both
  const auto end = std::chrono::steady_clock::now() + kStopTime;
  while (client_) {
    auto answer = client_->call(action, options_.wait.timeout);
    const bool is_over = std::chrono::steady_clock::now() >= end;
    if (answer || is_over) return answer;
    // A request that changes nothing can be repeated with the next service.
    const bool is_lost = answer.error().sys_errno == ECONNRESET && !verbs::can_change(action);
    if (!is_lost && !agent::is_stopping(answer.error())) return answer;
    PINFOLD_TRY(connect_or_open());  // waits until the service has ended
  }
  PINFOLD_TRY(verbs::check_size(action));
  return verbs::execute(**agent_, action, options_.source);
}

}  // namespace pinfold::socket
