#include "agent/agent_session.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/config_source.hpp"
#include "agent/open_agent.hpp"
#include "agent/read_node.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/socket/unix_socket.hpp"
#include "pinfold/worker/request.hpp"

namespace pinfold::tools {
namespace {

namespace fs = std::filesystem;

/// How long a command that only reads waits for each answer of a service.
constexpr std::chrono::milliseconds kReadTime(2000);
/// How long a command retries while services stop one after another.
constexpr std::chrono::seconds kStopTime(30);

tl::unexpected<Error> contradicts(const std::string& option, const AgentArguments& options,
                                  const std::string& service) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: the service at '{}' has the state directory '{}', and {}", option,
                          options.socket, options.state_dir, service));
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<void> check_config(const AgentArguments& options, const socket::Hello& hello) {
  PINFOLD_LET(auto node, read_config(options));
  const Config config =
      agent::with_profile_of(hello.config, std::move(node.config), node.profile_source);
  if (config.profile != hello.config.profile) {
    return contradicts(fmt::format("profile '{}'", to_string(config.profile)), options,
                       fmt::format("runs with '{}'", to_string(hello.config.profile)));
  }
  if (!names_config(options) || config == hello.config) return {};
  return contradicts(options.config.empty() ? std::string("--kubelet-flags")
                                            : fmt::format("--config '{}'", options.config),
                     options, "runs with another configuration");
}

/// Returns whether the answer to a request that can change the node says that it did.
bool says_change(const verbs::Answer& answer) {
  if (const auto* const hook = std::get_if<verbs::HookOutcome>(&answer)) return !*hook;
  if (const auto* const admissions = std::get_if<verbs::Admissions>(&answer)) {
    return std::any_of(admissions->outcomes.begin(), admissions->outcomes.end(),
                       [](const auto& outcome) { return !outcome.rejection; });
  }
  const auto* const moved = std::get_if<verbs::Reconfigured>(&answer);
  return moved == nullptr || moved->is_applied;
}

}  // namespace

Result<void> check_options(const AgentArguments& options, const socket::Hello& hello) {
  if (names_config(options) || !options.profile.empty() || !options.kubelet_binary.empty()) {
    PINFOLD_TRY(check_config(options, hello));
  }
  if (!options.machine.empty() || options.sysfs != NodeOptions{}.sysfs) {
    PINFOLD_LET(const auto machine, read_machine(options));
    if (machine != hello.machine) {
      return contradicts(options.machine.empty() ? fmt::format("--sysfs '{}'", options.sysfs)
                                                 : fmt::format("--machine '{}'", options.machine),
                         options, "runs with another machine");
    }
  }
  return check_cgroup_options(options, hello);
}

Result<void> check_cgroup_options(const AgentArguments& options, const socket::Hello& hello) {
  if (options.no_enforce && !hello.cgroup_root.empty()) {
    return contradicts("--no-enforce", options,
                       fmt::format("enforces below '{}'", hello.cgroup_root));
  }
  if (!options.cgroup_root.empty() && without_slash(options.cgroup_root) != hello.cgroup_root) {
    return contradicts(fmt::format("--cgroup-root '{}'", options.cgroup_root), options,
                       hello.cgroup_root.empty()
                           ? "enforces nothing"
                           : fmt::format("runs with '{}'", hello.cgroup_root));
  }
  return {};
}

bool is_same_directory(const std::string& a, const std::string& b) {
  std::error_code failed;
  return a == b || fs::equivalent(a, b, failed);
}

cli::Option socket_option(AgentArguments& options) {
  return {"--socket", &options.socket,
          options.is_query
              ? "Socket of the service. If one runs for the state directory, also shows where it "
                "serves PodResources and, in mode observe, what differs"
              : "Socket of the service: if one runs for the state directory, it does the work",
          "FILE"};
}

std::optional<ServiceView> read_service(const AgentArguments& options) {
  std::optional<ServiceView> view;
  const auto read = [&]() -> Result<void> {
    PINFOLD_LET(auto client, socket::Client::connect(options.socket, kReadTime));
    if (!client || !is_same_directory(client->hello().state_dir, options.state_dir)) return {};
    view.emplace(
        ServiceView{client->hello().config.profile, client->hello().profile_source, {}, {}});
    constexpr auto kNoLimit = std::chrono::milliseconds::zero();
    PINFOLD_LET(auto answer, client->call(verbs::ReadComparison{}, kNoLimit));
    if (auto* const comparison = std::get_if<verbs::Comparison>(&answer)) {
      view->comparison = std::move(*comparison);
    }
    PINFOLD_LET(auto report, client->call(verbs::ReadService{}, kNoLimit));
    if (auto* const found = std::get_if<verbs::ServiceReport>(&report)) {
      view->report = std::move(*found);
    }
    return {};
  };
  if (const auto done = read(); !done && !worker::is_stopping(done.error())) {
    warn("the answer of the service is not shown: " + done.error().message);
  }
  return view;
}

Result<AgentSession> AgentSession::open(const AgentArguments& options) {
  AgentSession session(options, std::nullopt);
  PINFOLD_TRY(session.connect_or_open());
  if (options.release_unknown) {
    PINFOLD_TRY(session.execute(verbs::ReleaseUnknown{}));
    PINFOLD_TRY(session.checkpoint_journal());  // now, because the command itself may fail
  }
  return session;
}

Result<AgentSession> AgentSession::open(const AgentArguments& options, OwnAgent own) {
  AgentSession session(options, std::move(own));
  PINFOLD_TRY(session.connect_or_open());
  return session;
}

Result<agent::NodeAgent> AgentSession::open_own() const {
  return own_ ? own_->open() : open_agent(options_);
}

Result<void> AgentSession::connect_or_open() {
  client_.reset();
  agent_.reset();
  const bool asks_service = own_ ? !own_->is_required : !options_.dry_run;
  PINFOLD_LET(const bool is_connected, asks_service ? connect() : Result<bool>(false));
  if (is_connected) return {};
  auto agent = open_own();
  if (!agent && asks_service && agent.error().code == ErrorCode::kBusy) {
    PINFOLD_LET(const bool has_started, connect());  // a service has started meanwhile
    if (has_started) return {};
  }
  PINFOLD_LET(agent_, std::move(agent));
  return {};
}

/// Returns false if no service runs for the state directory.
Result<bool> AgentSession::connect() {
  PINFOLD_LET(auto client, socket::Client::connect(options_.socket));
  if (!client || !is_same_directory(client->hello().state_dir, options_.state_dir)) return false;
  PINFOLD_TRY(own_ ? own_->check(client->hello()) : check_options(options_, client->hello()));
  client_ = std::move(client);
  const socket::Hello& hello = client_->hello();
  reader_ = agent_options_of(options_, hello.profile_source);
  reader_.is_query = true;
  reader_.enforce = !hello.cgroup_root.empty();
  reader_.cgroup_root = hello.cgroup_root;
  PINFOLD_TRY(view_service());
  return true;
}

/// Reads the state of the service.
Result<void> AgentSession::view_service() {
  if (own_) return {};
  const socket::Hello& hello = client_->hello();
  PINFOLD_LET(agent_, agent::open_agent(hello.machine, hello.config, reader_));
  return {};
}

verbs::NodeParts AgentSession::node_parts() const {
  if (client_) return {client_->hello().machine, client_->hello().config};
  return {agent_->node().machine(), agent_->node().config()};
}

Result<verbs::Answer> AgentSession::execute(const verbs::Action& action) {
  if (options_.dry_run || !verbs::can_change(action)) return execute_once(action);
  auto answer = changing([&] { return execute_once(action); });
  if (answer && says_change(*answer)) note_change();
  return answer;
}

Result<verbs::Answer> AgentSession::execute_once(const verbs::Action& action) {
  const auto end = std::chrono::steady_clock::now() + kStopTime;
  while (client_) {
    auto answer = client_->call(action, checkpoint::Store::kLockTimeout);
    const bool is_over = std::chrono::steady_clock::now() >= end;
    if (answer || is_over) return answer;
    // A request that changes nothing can be repeated with the next service.
    const bool is_lost = answer.error().sys_errno == ECONNRESET && !verbs::can_change(action);
    if (!is_lost && !worker::is_stopping(answer.error())) return answer;
    PINFOLD_TRY(connect_or_open());  // waits until the service has ended
  }
  PINFOLD_TRY(verbs::check_size(action));
  return verbs::execute(*agent_, action, own_ ? own_->source : verbs::NodeSource());
}

Result<std::optional<Error>> AgentSession::checkpoint_journal() {
  const auto checkpointed = execute(verbs::CheckpointJournal{});
  if (client_) PINFOLD_TRY(view_service());
  if (checkpointed) return std::nullopt;
  if (agent::is_unknown_outcome(checkpointed.error())) note_change();
  warn(fmt::format("{}; the next command that writes tries again",
                   agent::describe_not_settled(checkpointed.error())),
       "not settled");
  return checkpointed.error();
}

ExitStatus report_not_enforced(const Error& error) {
  (void)report({error.code, error.sys_errno,
                fmt::format("decided and stored, but not applied to the kernel: {}; remove the "
                            "cause, then run 'pinfold reconcile'",
                            error.message)});
  return kNo;
}

}  // namespace pinfold::tools
