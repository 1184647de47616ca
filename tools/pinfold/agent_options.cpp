#include "agent_options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "input.hpp"
#include "kubelet_unit.hpp"
#include "kubelet_version.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::tools {
namespace {

void print_warning(agent::LogLevel level, std::string_view message) {
  if (level == agent::LogLevel::kWarning) warn(std::string(message));
}

Result<ParsedConfig> parse_text(const std::string& text) {
  PINFOLD_LET_WRAP(auto parsed, parse_config(text), "configuration");
  return parsed;
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
  using agent::ProfileSource;
  PINFOLD_LET(auto parsed,
              text ? parse_text(*text)
                   : agent::read_config(options.state_dir, options.config,
                                        checkpoint::owner_check(options.insecure_state_dir)));
  if (!text) {
    for (const std::string& warning : parsed.warnings) warn("configuration: " + warning);
  }
  if (!options.profile.empty()) {
    PINFOLD_LET_WRAP(auto profile, parse_profile(options.profile), "--profile");
    parsed.config.profile = profile;
    return NodeConfig{std::move(parsed.config), options.profile_source};
  }
  if (parsed.names_profile) {
    return NodeConfig{std::move(parsed.config), ProfileSource::kConfiguration};
  }
  if (options.kubelet_binary.empty()) return NodeConfig{std::move(parsed.config)};
  std::string program = options.kubelet_binary;
  if (program == "unit") {
    PINFOLD_LET_WRAP(program, program_of_kubelet_unit(options.sysfs), "--kubelet-binary unit");
  }
  PINFOLD_LET_WRAP(const auto version, kubelet_version(program), "--kubelet-binary");
  PINFOLD_LET_WRAP(parsed.config.profile, profile_of_kubelet(version), "--kubelet-binary");
  return NodeConfig{std::move(parsed.config), ProfileSource::kKubelet};
}

Result<Node> make_node(const NodeOptions& options, Config config) {
  PINFOLD_LET(auto machine, read_machine(options));
  return agent::make_node(std::move(machine), std::move(config));
}

std::vector<cli::Option> node_options(NodeOptions& options) {
  return {
      {"--config", &options.config,
       "KubeletConfiguration, YAML or JSON [config.yaml in the state directory if it exists, else "
       "the kubelet's defaults]",
       "FILE"},
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

cli::Option state_dir_option(std::string& state_dir) {
  return {"--state-dir", &state_dir, "State directory of the node", "DIR"};
}

cli::Option insecure_state_dir_option(bool& is_insecure) {
  return {"--insecure-state-dir", &is_insecure,
          "For tests: accept a state directory that other users can change"};
}

// The active pods, or with --pod the containers of one.
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

Result<agent::NodeAgent> open_agent(const AgentOptions& options) {
  PINFOLD_LET(auto node, read_config(options));
  PINFOLD_LET(auto machine, read_machine(options));
  return agent::open_agent(std::move(machine), std::move(node.config),
                           agent_options_of(options, node.profile_source));
}

ExitStatus report_not_enforced(const Error& error) {
  (void)report({error.code, error.sys_errno,
                fmt::format("decided and stored, but not applied to the kernel: {}; remove the "
                            "cause, then run 'pinfold reconcile'",
                            error.message)});
  return kNo;
}

}  // namespace pinfold::tools
