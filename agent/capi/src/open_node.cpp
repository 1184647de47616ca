#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>

#include "node_call.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/text/document.hpp"
#include "sized_struct.hpp"
#include "this_machine.hpp"

/// Reads the options of a node and opens it.
namespace pinfold::capi {
namespace {

constexpr std::chrono::milliseconds kLockTimeout{30'000};
/// The sizes of the structures in version 0.2.0.
constexpr std::size_t kSmallestOptions = offsetof(pinfold_node_options, interrupted);
constexpr std::size_t kSmallestLogSink = sizeof(pinfold_log_sink);
constexpr std::size_t kSmallestHintProvider = sizeof(pinfold_hint_provider);
constexpr std::size_t kSmallestCgroupFs = sizeof(pinfold_cgroup_fs);
constexpr std::uint32_t kKnownFlags = PINFOLD_NODE_NO_ENFORCE | PINFOLD_NODE_INSECURE_STATE_DIR |
                                      PINFOLD_NODE_READ_ONLY | PINFOLD_NODE_KEEP_AFFINITY |
                                      PINFOLD_NODE_DEFER;
/// A larger count was probably not initialised.
constexpr std::size_t kMaxHintProviders = 16;

std::string text_or(const char* text, const std::string& otherwise) {
  return text == nullptr ? otherwise : text;
}

/// Returns whether the configuration is that of the state directory.
bool uses_own_config(const pinfold_node_options& options) {
  return options.config == nullptr && text_or(options.config_file, "").empty();
}

/// The state directory, or why it cannot be opened.
using Directory = Result<std::unique_ptr<checkpoint::Fs>>;

/// Opens the state directory for the files that are read before an agent is opened: the
/// configuration, if no other is named, and the kept description of the machine.
Directory open_directory_of_node(const pinfold_node_options& options,
                                 const agent::AgentOptions& agent_options) {
  std::vector<std::string> names;
  if (uses_own_config(options)) names.emplace_back(agent::kConfigFileName);
  return open_directory_of_machine(agent_options, std::move(names));
}

Result<Machine> read_machine(const char* text, const agent::AgentOptions& agent_options,
                             const std::string& online, const Directory& directory) {
  if (text == nullptr) {
    return this_machine(agent_options, online, directory ? directory->get() : nullptr);
  }
  PINFOLD_LET_WRAP(auto machine, discover(source_of_text(text), "node"), "machine");
  return machine;
}

/// Reads the configuration of the state directory; nullopt if it has none.
Result<std::optional<ParsedConfig>> read_own_config(const std::string& state_dir,
                                                    const Directory& directory) {
  if (directory) return agent::read_own_config(**directory, state_dir);
  if (!agent::has_config(state_dir)) return std::nullopt;
  return fail(directory.error());
}

Result<ParsedConfig> read_config(const pinfold_node_options& options,
                                 agent::AgentOptions& agent_options, const Directory& directory) {
  if (options.config != nullptr) return parse_config(options.config);
  if (!uses_own_config(options)) {
    return agent::read_config(agent_options.state_dir, options.config_file,
                              checkpoint::owner_check(agent_options.insecure_state_dir));
  }
  PINFOLD_LET(auto own, read_own_config(agent_options.state_dir, directory));
  agent_options.lacks_config = !own && options.config_file == nullptr;
  return own ? *std::move(own) : ParsedConfig{};
}

Result<void> read_configuration(const pinfold_node_options& options, const Directory& directory,
                                pinfold_node& node) {
  agent::AgentOptions& agent_options = node.agent_options;
  PINFOLD_LET_WRAP(auto parsed, read_config(options, agent_options, directory), "configuration");
  log_warnings(node, "configuration", config_warnings(parsed.warnings, parsed.config));
  agent_options.profile_source = agent::profile_source_of(parsed);
  node.config = std::move(parsed.config);
  return {};
}

Result<pinfold_cgroup_fs> read_cgroup_fs(const pinfold_cgroup_fs* given) {
  PINFOLD_LET(auto callbacks, read_struct(given, kSmallestCgroupFs, "pinfold_cgroup_fs"));
  const bool is_complete = callbacks.create_cgroup != nullptr &&
                           callbacks.remove_cgroup != nullptr && callbacks.write_file != nullptr &&
                           callbacks.read_file != nullptr && callbacks.list_children != nullptr;
  const int version = callbacks.cgroup_version;
  if (version == 0 || (is_complete && (version == 1 || version == 2))) return callbacks;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("cgroup_fs: cgroup_version {}: expected 0, or 1 or 2 with all callbacks",
                          version));
}

Result<HintCallbacks> read_hint_provider(const pinfold_hint_provider* given) {
  PINFOLD_LET(auto callbacks, read_struct(given, kSmallestHintProvider, "pinfold_hint_provider"));
  if (callbacks.name == nullptr || callbacks.get_hints == nullptr ||
      callbacks.allocate == nullptr || callbacks.release == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "expected a name and all callbacks");
  }
  return HintCallbacks{callbacks, callbacks.name};
}

Result<void> read_hint_providers(const pinfold_node_options& options, pinfold_node& node) {
  const std::size_t count = options.hint_provider_count;
  if (count > kMaxHintProviders) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("hint_provider_count {}: expected at most {}", count, kMaxHintProviders));
  }
  if (count > 0) PINFOLD_TRY(require(options.hint_providers, "hint_providers"));
  for (std::size_t i = 0; i < count; ++i) {
    PINFOLD_LET_WRAP(auto callbacks, read_hint_provider(options.hint_providers[i]),
                     fmt::format("hint_providers[{}]", i));
    node.hint_providers.push_back(std::move(callbacks));
  }
  return {};
}

Result<void> read_callbacks(const pinfold_node_options& options, pinfold_node& node) {
  if (options.log_sink != nullptr) {
    PINFOLD_LET(const auto sink,
                read_struct(options.log_sink, kSmallestLogSink, "pinfold_log_sink"));
    if (sink.log != nullptr) node.agent_options.log = make_log_sink(sink);
  }
  if (options.cgroup_fs != nullptr) {
    PINFOLD_LET(const auto callbacks, read_cgroup_fs(options.cgroup_fs));
    node.agent_options.open_cgroups = make_cgroup_opener(callbacks, node.agent_options.is_query);
    std::string& root = node.agent_options.cgroup_root;
    node.has_own_hierarchy = callbacks.cgroup_version != 0;
    if (node.has_own_hierarchy && root.empty()) root = "/pinfold";
  }
  return read_hint_providers(options, node);
}

agent::AgentOptions read_agent_options(const pinfold_node_options& options) {
  agent::AgentOptions agent_options;
  agent_options.state_dir = text_or(options.state_dir, agent_options.state_dir);
  agent_options.cgroup_root = text_or(options.cgroup_root, "");
  agent_options.is_query = (options.flags & PINFOLD_NODE_READ_ONLY) != 0;
  agent_options.enforce = (options.flags & PINFOLD_NODE_NO_ENFORCE) == 0;
  agent_options.reset_affinity = (options.flags & PINFOLD_NODE_KEEP_AFFINITY) == 0;
  agent_options.insecure_state_dir = (options.flags & PINFOLD_NODE_INSECURE_STATE_DIR) != 0;
  agent_options.lock_wait.timeout = options.lock_timeout_ms == 0
                                        ? kLockTimeout
                                        : std::chrono::milliseconds(options.lock_timeout_ms);
  agent_options.lock_wait.interrupted = options.interrupted;
  return agent_options;
}

/// Opens an agent once, so that pinfold_node_open reports what every later call would. A journal
/// that the last call about a container has left stays: its checkpoint would be four syncs.
Result<void> try_agent(pinfold_node& node) {
  PINFOLD_LET(const auto lock, NodesLock::acquire());
  PINFOLD_LET(auto session, open_session(node).map_error(about_system));
  PINFOLD_TRY(session.refresh().map_error(about_system));
  (void)end_call(session, AtEnd::kLeaveJournal, node.agent_options.log);
  const agent::NodeAgent& agent = session.view();
  if (!agent.enforces() || !node.agent_options.log) return {};
  for (const std::string& warning : agent.enforced()->warnings()) {
    node.agent_options.log(agent::LogLevel::kWarning, warning);
  }
  return {};
}

Result<std::unique_ptr<pinfold_node>> open_node(const pinfold_node_options* given) {
  PINFOLD_LET(const auto options, read_struct(given, kSmallestOptions, "pinfold_node_options"));
  PINFOLD_TRY(check_flags(options.flags, kKnownFlags));
  std::string online = options.machine == nullptr ? online_cpus() : "";
  auto agent_options = read_agent_options(options);
  const Directory directory = open_directory_of_node(options, agent_options);
  PINFOLD_LET(auto machine, read_machine(options.machine, agent_options, online, directory));
  // Nothing may throw within the braces: GCC 12 would destroy a member that is not constructed yet.
  Config config;
  auto node = std::make_unique<pinfold_node>(pinfold_node{
      std::move(machine), std::move(online), std::move(config), {}, std::move(agent_options), {}});
  if (options.config == nullptr) node->config_file = text_or(options.config_file, "");
  node->names_config = options.config != nullptr || options.config_file != nullptr;
  node->names_machine = options.machine != nullptr;
  node->socket = text_or(options.socket, socket::kDefaultSocket);
  PINFOLD_TRY(read_callbacks(options, *node));
  for (const std::string& warning : node->machine.description().warnings) {
    if (node->agent_options.log) node->agent_options.log(agent::LogLevel::kWarning, warning);
  }
  PINFOLD_TRY(read_configuration(options, directory, *node));
  if ((options.flags & PINFOLD_NODE_DEFER) == 0) PINFOLD_TRY(try_agent(*node));
  return node;
}

}  // namespace
}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

pinfold_code pinfold_node_open(const pinfold_node_options* options, pinfold_node** node,
                               char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY_WRAP(require(node, "node"), "open node");
    PINFOLD_TRY_WRAP(require(options, "options"), "open node");
    PINFOLD_LET_WRAP(auto opened, open_node(options), "open node");
    *node = opened.release();
    return PINFOLD_OK;
  });
}

void pinfold_node_close(pinfold_node* node) {
  if (!NodesLock::is_held_here()) delete node;  // in a callback, the outer call still uses it
}
