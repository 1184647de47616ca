#include "agent/agent_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/command_line.hpp"
#include "agent/config_source.hpp"
#include "input.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/checkpoint/files.hpp"
#include "pinfold/socket/unix_socket.hpp"

namespace pinfold::tools {
namespace {

/// How long a command that only reads waits for each answer of a service.
constexpr std::chrono::milliseconds kReadTime(2000);

/// Reads the configuration that the options ask for.
Result<socket::NamedConfig> named_config(const AgentArguments& options) {
  PINFOLD_LET(auto node, read_config(options));
  socket::NamedConfig named{"", std::move(node.config), node.profile_source};
  if (names_config(options)) {
    named.option = options.config.empty() ? std::string("--kubelet-flags")
                                          : fmt::format("--config '{}'", options.config);
  }
  return named;
}

socket::NamedParts named_groups(const AgentArguments& options) {
  socket::NamedParts named;
  if (options.no_enforce) named.no_enforce_option = "--no-enforce";
  if (!options.cgroup_root.empty()) {
    named.cgroup_root = options.cgroup_root;
    named.cgroup_root_option = fmt::format("--cgroup-root '{}'", options.cgroup_root);
  }
  return named;
}

/// Returns whether the answer to a request that can change the node says that it did.
bool says_change(const verbs::Answer& answer) {
  if (const auto* const hook = std::get_if<verbs::HookOutcome>(&answer)) return !*hook;
  if (const auto* const admissions = std::get_if<verbs::Admissions>(&answer)) {
    return std::any_of(admissions->outcomes.begin(), admissions->outcomes.end(),
                       [](const auto& outcome) { return !outcome.rejection; });
  }
  if (const auto* const prepared = std::get_if<verbs::PreparedContainer>(&answer)) {
    return std::holds_alternative<verbs::OwnResources>(*prepared);
  }
  const auto* const moved = std::get_if<verbs::Reconfigured>(&answer);
  return moved == nullptr || moved->is_applied;
}

}  // namespace

Result<void> check_options(const AgentArguments& options, const socket::Hello& hello) {
  socket::NamedParts named = named_groups(options);
  if (names_config(options) || !options.profile.empty() || !options.kubelet_binary.empty()) {
    PINFOLD_LET(named.config, named_config(options));
  }
  if (!options.machine.empty() || options.sysfs != NodeOptions{}.sysfs) {
    PINFOLD_LET(auto machine, read_machine(options));
    named.machine = socket::NamedMachine{options.machine.empty()
                                             ? fmt::format("--sysfs '{}'", options.sysfs)
                                             : fmt::format("--machine '{}'", options.machine),
                                         std::move(machine)};
  }
  return socket::check_named(named, options.socket, options.state_dir, hello);
}

Result<void> check_cgroup_options(const AgentArguments& options, const socket::Hello& hello) {
  return socket::check_named(named_groups(options), options.socket, options.state_dir, hello);
}

Result<agent::NodeAgent> open_agent(const AgentArguments& options) {
  PINFOLD_LET(auto node, read_config(options));
  PINFOLD_LET(auto machine, read_machine(options));
  auto agent = agent::open_agent(std::move(machine), std::move(node.config),
                                 agent_options_of(options, node.profile_source));
  if (agent) return agent;
  Error error = std::move(agent).error();
  if (error.code == ErrorCode::kInvalidArgument && !options.config.empty()) {
    error = std::move(error).wrap(options.config);
  }
  return fail(with_own_advice(options, std::move(error)));
}

cli::Option socket_option(AgentArguments& options) {
  return {"--socket", &options.socket,
          options.is_query
              ? "Socket of the service. If one runs for the state directory, also shows where it "
                "serves PodResources and, in mode observe, what differs"
              : "The service's socket; a service that runs for this state directory does the work",
          "FILE"};
}

std::optional<ServiceView> read_service(const AgentArguments& options) {
  std::optional<ServiceView> view;
  const auto read = [&]() -> Result<void> {
    PINFOLD_LET(auto client, socket::Client::connect(options.socket, kReadTime));
    if (!client || !socket::is_same_directory(client->hello().state_dir, options.state_dir))
      return {};
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
  if (const auto done = read(); !done && !agent::is_stopping(done.error())) {
    warn("the answer of the service is not shown: " + done.error().message);
  }
  return view;
}

Result<AgentSession> AgentSession::open(const AgentArguments& options) {
  const auto open_own = [options] { return open_agent(options); };
  const auto check = [options](const socket::Hello& hello) {
    return check_options(options, hello);
  };
  PINFOLD_LET(auto session, open(options, OwnAgent{open_own, {}, options.dry_run, check}));
  PINFOLD_TRY(session.session_.refresh());
  if (options.release_unknown) {
    PINFOLD_TRY(session.execute(verbs::ReleaseUnknown{}));
    PINFOLD_TRY(session.checkpoint_journal());  // now, because the command itself may fail
  }
  return session;
}

Result<AgentSession> AgentSession::open(const AgentArguments& options, OwnAgent own) {
  socket::NodeSessionOptions how;
  how.socket = own.is_required ? "" : options.socket;
  how.reader = agent_options_of(options, options.profile_source);
  how.open = std::move(own.open);
  how.source = std::move(own.source);
  how.check = std::move(own.check);
  PINFOLD_LET(auto opened, socket::NodeSession::open(std::move(how)));
  return AgentSession(std::move(opened), options.dry_run);
}

Result<verbs::Answer> AgentSession::execute(const verbs::Action& action) {
  if (is_dry_run_ || !verbs::can_change(action)) return session_.execute(action);
  auto answer = changing([&] { return session_.execute(action); });
  if (answer && says_change(*answer)) note_change();
  return answer;
}

Result<std::optional<Error>> AgentSession::checkpoint_journal() {
  const auto checkpointed = execute(verbs::CheckpointJournal{});
  PINFOLD_TRY(session_.refresh());
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
