#include "node_call.hpp"

#include <fmt/format.h>

#include "callbacks.hpp"
#include "pinfold/verbs/reconfigure.hpp"
#include "this_machine.hpp"

namespace pinfold::capi {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::mutex nodes_mutex;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local bool thread_holds_nodes = false;

Result<void> rediscover_if_cpus_changed(pinfold_node& node) {
  if (node.online.empty()) return {};
  std::string online = online_cpus();
  if (online == node.online) return {};
  const auto directory = open_directory_of_machine(node.agent_options);
  PINFOLD_LET(node.machine,
              this_machine(node.agent_options, online, directory ? directory->get() : nullptr));
  node.online = std::move(online);
  return {};
}

/// Opens the agent of one call, without a service.
Result<agent::NodeAgent> open_agent(pinfold_node& node) {
  PINFOLD_LET(auto machine, current_machine(node));
  auto providers = make_providers(node, machine);
  return agent::open_agent(std::move(machine), node.config, node.agent_options,
                           std::move(providers));
}

Result<verbs::NodeConfig> read_config(const pinfold_node& node,
                                      const std::optional<std::string>& text) {
  if (!text && !node.config_file) {
    return verbs::NodeConfig{node.config, node.agent_options.profile_source};
  }
  PINFOLD_LET_WRAP(
      auto parsed,
      text ? parse_config(*text)
           : agent::read_config(node.agent_options.state_dir, *node.config_file,
                                checkpoint::owner_check(node.agent_options.insecure_state_dir)),
      "configuration");
  return verbs::node_config_of(std::move(parsed), node.config);
}

/// Checks that a service can execute the calls of a node as its options ask.
Result<void> check_service(const pinfold_node& node, const socket::Hello& hello) {
  const agent::AgentOptions& options = node.agent_options;
  const bool has_groups = options.open_cgroups != nullptr;
  if (has_groups || !node.hint_providers.empty()) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("{}: the service at '{}' has the state directory '{}', and cannot call "
                    "functions of this program",
                    has_groups ? "cgroup_fs" : "hint_providers", node.socket, options.state_dir));
  }
  socket::NamedParts named;
  if (node.names_config) {
    named.config = socket::NamedConfig{node.config_file ? "config_file" : "config", node.config,
                                       options.profile_source};
  }
  if (node.names_machine) named.machine = socket::NamedMachine{"machine", node.machine};
  if (!options.enforce) named.no_enforce_option = "PINFOLD_NODE_NO_ENFORCE";
  if (!options.cgroup_root.empty()) {
    named.cgroup_root = options.cgroup_root;
    named.cgroup_root_option = fmt::format("cgroup_root '{}'", options.cgroup_root);
  }
  return socket::check_named(named, node.socket, options.state_dir, hello);
}

}  // namespace

NodesLock::NodesLock(bool& is_held) : lock_(nodes_mutex), is_held_(&is_held) { is_held = true; }

Result<NodesLock> NodesLock::acquire() {
  if (is_held_here()) {
    return fail(ErrorCode::kBusy, "called from a callback, while the outer call still uses nodes");
  }
  return NodesLock(thread_holds_nodes);
}

bool NodesLock::is_held_here() { return thread_holds_nodes; }

Error about_system(Error error) {
  if (error.code == ErrorCode::kNotFound && error.sys_errno != 0) error.code = ErrorCode::kIo;
  return error;
}

Error about_node(Error error) {
  if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kIo;
  return error;
}

Result<const agent::NodeAgent*> view_of(socket::NodeSession& session) {
  PINFOLD_TRY(session.refresh().map_error(about_node));
  return &session.view();
}

pinfold_code code_of(const std::optional<Error>& not_enforced, char** error) {
  if (!not_enforced) return PINFOLD_OK;
  note_errno(not_enforced->sys_errno);
  set_message(error, "decided and stored, but not applied to the kernel: " + not_enforced->message);
  return PINFOLD_NOT_ENFORCED;
}

pinfold_code code_of(const Rejection& rejection, char** error) {
  set_message(error, rejection.reason + ": " + rejection.message);
  return PINFOLD_REJECTED;
}

Result<void> check_access(const pinfold_node& node, Access access) {
  if (access == Access::kRead || !node.agent_options.is_query) return {};
  return fail(ErrorCode::kUnsupported, "the node is open read-only (PINFOLD_NODE_READ_ONLY)");
}

void log_warnings(const pinfold_node& node, std::string_view about,
                  const std::vector<std::string>& warnings) {
  if (!node.agent_options.log) return;
  for (const std::string& warning : warnings) {
    node.agent_options.log(agent::LogLevel::kWarning, fmt::format("{}: {}", about, warning));
  }
}

std::optional<Error> end_call(socket::NodeSession& session, AtEnd at_end,
                              const agent::LogSink& log) {
  if (session.own() == nullptr) return std::nullopt;
  const auto ended = at_end == AtEnd::kLeaveJournal ? session.own()->leave_journal()
                                                    : session.own()->checkpoint_journal();
  if (ended) return std::nullopt;
  Error error = ended.error();
  error.message =
      fmt::format("{}; the next call tries again", agent::describe_not_settled(ended.error()));
  if (log) log(agent::LogLevel::kWarning, error.message);
  return error;
}

Node::Providers make_providers(const pinfold_node& node, const Machine& machine) {
  Node::Providers providers;
  for (const HintCallbacks& callbacks : node.hint_providers) {
    providers.push_back(make_hint_provider(callbacks, machine.numa_count()));
  }
  return providers;
}

Result<Machine> current_machine(pinfold_node& node) {
  PINFOLD_TRY(rediscover_if_cpus_changed(node));
  return node.machine;
}

verbs::NodeSource source_of(pinfold_node& node) {
  verbs::NodeSource source;
  source.config = [&node](const std::optional<std::string>& text) {
    return read_config(node, text);
  };
  source.machine = [&node] { return current_machine(node); };
  source.providers = [&node](const Machine& machine) { return make_providers(node, machine); };
  if (node.config_file && node.config_file->empty()) source.file = verbs::ConfigFile::kReplace;
  return source;
}

Result<socket::NodeSession> open_session(pinfold_node& node) {
  socket::NodeSessionOptions options;
  options.socket = node.agent_options.is_query ? "" : node.socket;
  options.reader = node.agent_options;
  options.open = [&node] { return open_agent(node); };
  options.source = source_of(node);
  options.check = [&node](const socket::Hello& hello) { return check_service(node, hello); };
  options.wait = node.agent_options.lock_wait;
  return socket::NodeSession::open(std::move(options));
}

}  // namespace pinfold::capi
