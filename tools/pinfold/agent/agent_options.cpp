#include "agent/agent_options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent/command_line.hpp"
#include "agent/config_source.hpp"
#include "agent/kubelet_program.hpp"
#include "input.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/discover/discover.hpp"

namespace pinfold::tools {
namespace {

void print_warning(agent::LogLevel level, std::string_view message) {
  if (level == agent::LogLevel::kWarning) warn(std::string(message));
}

Result<ParsedConfig> parse_text(const std::string& text, const std::string& name) {
  PINFOLD_LET_WRAP(auto parsed, parse_config(text), name);
  return parsed;
}

/// Reads the configuration that the options name, else that of the state directory.
Result<ParsedConfig> read_named_or_own(const NodeOptions& options) {
  if (!names_config(options)) {
    return agent::read_config(options.state_dir, "",
                              checkpoint::owner_check(options.insecure_state_dir));
  }
  PINFOLD_LET(const auto text, read_config_text(options));
  return parse_text(text, config_name(options));
}

/// Returns the configuration with the profile from the options, else its own.
Result<NodeConfig> with_profile(const NodeOptions& options, Config config, bool names_profile) {
  using agent::ProfileSource;
  if (!options.profile.empty()) {
    PINFOLD_LET_WRAP(auto profile, parse_profile(options.profile), "--profile");
    config.profile = profile;
    return NodeConfig{std::move(config), options.profile_source};
  }
  if (names_profile) {
    return NodeConfig{std::move(config), ProfileSource::kConfiguration};
  }
  if (options.kubelet_binary.empty()) return NodeConfig{std::move(config)};
  std::string program = options.kubelet_binary;
  if (program == "unit") {
    PINFOLD_LET_WRAP(program, program_of_kubelet_unit(options.sysfs), "--kubelet-binary unit");
  }
  PINFOLD_LET_WRAP(const auto version, kubelet_version(program), "--kubelet-binary");
  PINFOLD_LET_WRAP(config.profile, profile_of_kubelet(version), "--kubelet-binary");
  return NodeConfig{std::move(config), ProfileSource::kKubelet};
}

/// Returns "pinfold checkpoint repair --config FILE ...".
std::string repair_command(AgentOptions options) {
  options.state_dir = AgentOptions().state_dir;  // that command takes it as its argument
  options.insecure_state_dir = false;
  return command_line("checkpoint repair", options);
}

/// Warns, before a command uses a configuration, that it differs from the node's own.
void warn_of_other(const NodeOptions& options, const Config& config) {
  const auto own = agent::read_config(options.state_dir, "", checkpoint::OwnerCheck::kOff);
  const std::string path = own_config_file(options);
  if (!own || !has_own_config(options)) return;
  Config compared = without_unknown_gates(own->config);
  if (!own->names_profile) compared.profile = config.profile;
  if (compared == config) return;
  warn(fmt::format("configuration: '{}' differs from the node's own, '{}'", config_name(options),
                   path));
}

}  // namespace

Result<Machine> read_machine(const NodeOptions& options) {
  if (options.machine.empty()) {
    PINFOLD_LET(auto machine, discover(SysTree{options.sysfs}, "node"));
    print_warnings(machine);
    return machine;
  }
  PINFOLD_LET(const auto source, read_source(options.machine));
  PINFOLD_LET_WRAP(auto machine, discover(source, "node"), input_name(options.machine));
  print_warnings(machine);
  return machine;
}

Result<NodeConfig> read_config(const NodeOptions& options) {
  return read_config(options, std::nullopt);
}

Result<NodeConfig> read_config(const NodeOptions& options, const std::optional<std::string>& text) {
  PINFOLD_LET(auto parsed, text ? parse_text(*text, "configuration") : read_named_or_own(options));
  PINFOLD_LET(auto node, with_profile(options, std::move(parsed.config), parsed.names_profile));
  if (!text) {
    for (const std::string& warning : parsed.warnings) warn("configuration: " + warning);
    for (const std::string& one : settings_without_effect(node.config)) {
      warn("configuration: " + one);
    }
  }
  node.config = without_unknown_gates(std::move(node.config));
  if (!text && names_config(options)) warn_of_other(options, node.config);
  return node;
}
Result<Node> make_node(const NodeOptions& options, const Config& config) {
  PINFOLD_LET(auto machine, read_machine(options));
  auto node = agent::make_node(machine, config);
  if (node || !names_config(options)) return node;
  return fail(std::move(node).error().wrap(config_name(options)));
}

std::vector<cli::Option> node_options(NodeOptions& options) {
  return {
      {"--config", &options.config,
       "KubeletConfiguration, or any file that has one; a directory: the file system of a node "
       "with a kubelet, / for this one [config.yaml in the state directory if it exists, else the "
       "kubelet's defaults]",
       "FILE"},
      kubelet_flags_option(options.kubelet_flags),
      {"--machine", &options.machine,
       "The machine: JSON of 'pinfold topology -o json', MachineInfo of a kubelet, XML of hwloc "
       "(also .gz), a directory with sys/ and proc/, or hwloc's synthetic form [discovered]",
       "FILE"},
      {.name = "--sysfs",
       .target = &options.sysfs,
       .help = "Discover the machine from DIR/sys and DIR/proc",
       .value = "DIR",
       .excludes = {"--machine"}},
      {.name = "--profile",
       .target = &options.profile,
       .help =
           "fixed, or kubelet-1.36, -1.37 or -1.38: without or with the known bugs of that "
           "kubelet [from the "
           "configuration, else that of the kubelet that wrote the state files, if they tell it, "
           "else fixed]",
       .value = "NAME",
       .suggestions = profile_names()},
      {.name = "--kubelet-binary",
       .target = &options.kubelet_binary,
       .help = "Run FILE --version and use the profile of that kubelet, unless the configuration "
               "has one; 'unit': the program of kubelet.service",
       .value = "FILE",
       .excludes = {"--profile"},
       .suggestions = {"unit"}}};
}

std::vector<cli::Option> agent_options(AgentOptions& options) {
  std::vector<cli::Option> all = {
      state_dir_option(options.state_dir),
      insecure_state_dir_option(options.insecure_state_dir),
      {"--cgroup-root", &options.cgroup_root,
       "Cgroup below which Pinfold keeps all groups [pinfold, at the mount of the cpuset "
       "controller]",
       "DIR"},
      {.name = "--no-enforce",
       .target = &options.no_enforce,
       .help = "Decide and store, but change no cgroup",
       .excludes = {"--cgroup-root"}}};
  const auto node = node_options(options);
  all.insert(all.end(), node.begin(), node.end());
  return all;
}

cli::Option kubelet_flags_option(std::vector<std::string>& flags) {
  return {.name = "--kubelet-flags",
          .target = &flags,
          .help =
              "Flags of a kubelet over the configuration, or a file with them: an environment "
              "file, a unit of systemd; may be repeated",
          .value = "FLAGS",
          .is_verbatim = true,
          .one_at_a_time = true};
}

cli::Option state_dir_option(std::string& state_dir) {
  return {"--state-dir", &state_dir, "State directory of the node", "DIR"};
}

cli::Option insecure_state_dir_option(bool& is_insecure) {
  return {"--insecure-state-dir", &is_insecure,
          "For tests: accept a state directory that other users can change"};
}

// Lists the active pods or, with --pod, the containers of one.
constexpr const char* kActiveNames = "status -o name --no-enforce";

cli::Option pod_option(std::string& pod) {
  return {.name = "--pod",
          .target = &pod,
          .help = "UID, name or NAMESPACE/NAME",
          .value = "POD",
          .required = true,
          .suggested_by = kActiveNames};
}

cli::Option container_option(std::string& container) {
  return {.name = "--container",
          .target = &container,
          .help = "Name of the container",
          .value = "NAME",
          .suggested_by = kActiveNames,
          .suggested_with = "--pod"};
}

cli::Option dry_run_option(AgentOptions& options) {
  return {"--dry-run", &options.dry_run, "Decide and print, but store and apply nothing"};
}

cli::Option release_unknown_option(AgentOptions& options) {
  return {"--release-unknown", &options.release_unknown,
          "Release the CPUs and memory of pods that only the kubelet's files name: they no longer "
          "run"};
}

void print_dry_run(const AgentOptions& options) {
  if (options.dry_run) fmt::print("nothing stored (--dry-run)\n");
}

agent::AgentOptions agent_options_of(const AgentOptions& options,
                                     agent::ProfileSource profile_source) {
  agent::AgentOptions opened;
  opened.profile_source = profile_source;
  opened.move_pages = options.moves_pages;
  opened.reset_affinity = !options.keeps_affinity;
  opened.state_dir = options.state_dir;
  opened.insecure_state_dir = options.insecure_state_dir;
  opened.cgroup_root = options.cgroup_root;
  opened.enforce = !options.no_enforce;
  opened.dry_run = options.dry_run;
  opened.is_query = options.is_query;
  opened.log = options.log;
  if (!opened.log && !options.hides_warnings) opened.log = print_warning;
  return opened;
}

Error with_own_advice(const AgentOptions& options, Error error) {
  const std::size_t begin = error.message.find(", please drain this node");
  if (begin == std::string::npos) return error;
  constexpr std::string_view kEnd = "before restarting Kubelet";
  const std::size_t end = error.message.find(kEnd, begin);
  if (end != std::string::npos) error.message.erase(begin, end + kEnd.size() - begin);
  const bool lacks_config =
      !names_config(options) && !has_own_config(options) &&
      error.message.find("differs from state checkpoint policy") != std::string::npos;
  error.message +=
      lacks_config ? fmt::format(
                         "; no configuration is named, so the kubelet's defaults count: name that "
                         "of the state with --config, for example '{}'",
                         own_config_file(options))
                   : fmt::format("; '{} {}' keeps what can be read of it", repair_command(options),
                                 shell_word(options.state_dir));
  return error;
}

Result<agent::NodeAgent> open_agent(const AgentOptions& options) {
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

ExitStatus report_not_enforced(const Error& error) {
  (void)report({error.code, error.sys_errno,
                fmt::format("decided and stored, but not applied to the kernel: {}; remove the "
                            "cause, then run 'pinfold reconcile'",
                            error.message)});
  return kNo;
}

}  // namespace pinfold::tools
