#include "agent_options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "pinfold/discover/discover.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::tools {
namespace {

Result<Machine> read_machine(const NodeOptions& options) {
  if (options.machine.empty()) return discover(SysTree{options.sysfs}, "node");
  PINFOLD_LET(auto text, read_input(options.machine));
  PINFOLD_LET_WRAP(auto document, parse_document(text), options.machine);
  PINFOLD_LET_WRAP(auto machine, Machine::from_json(document), options.machine);
  return machine;
}

}  // namespace

Result<Config> read_config(const NodeOptions& options) {
  PINFOLD_LET(auto parsed, agent::read_config(options.state_dir, options.config));
  for (const std::string& warning : parsed.warnings) {
    fmt::print(stderr, "pinfold: warning: configuration: {}\n", warning);
  }
  if (!options.profile.empty()) {
    PINFOLD_LET_WRAP(auto profile, parse_profile(options.profile), "--profile");
    parsed.config.profile = profile;
  }
  return std::move(parsed.config);
}

Result<Node> make_node(const NodeOptions& options, Config config) {
  PINFOLD_LET(auto machine, read_machine(options));
  return agent::make_node(std::move(machine), std::move(config));
}

void add_node_options(CLI::App& command, NodeOptions& options) {
  command
      .add_option("--config", options.config,
                  "KubeletConfiguration, YAML or JSON [STATE_DIR/config.yaml if it is there]")
      ->type_name("FILE");
  auto* const machine = command
                            .add_option("--machine", options.machine,
                                        "the machine as JSON, as 'pinfold topology -o json' prints "
                                        "it [discovered]")
                            ->type_name("FILE");
  command.add_option("--sysfs", options.sysfs, "discover the machine below DIR/sys and DIR/proc")
      ->type_name("DIR")
      ->capture_default_str()
      ->excludes(machine);
  command
      .add_option("--profile", options.profile,
                  "fixed or kubelet-1.36: without or with the kubelet's defects [the "
                  "configuration's, or fixed]")
      ->type_name("NAME");
}

void add_agent_options(CLI::App& command, AgentOptions& options, HasOutput has_output) {
  command.add_option("--state-dir", options.state_dir, "where the node's state is kept")
      ->type_name("DIR")
      ->capture_default_str();
  auto* const root = command
                         .add_option("--cgroup-root", options.cgroup_root,
                                     "directory in a cgroup mount below which all groups are kept "
                                     "[pinfold, at the mount of the cpuset controller]")
                         ->type_name("DIR");
  command.add_flag("--no-enforce", options.no_enforce, "decide and remember, touch no cgroup")
      ->excludes(root);
  add_node_options(command, options);
  if (has_output == HasOutput::kYes) add_output_option(command, options.output);
}

void add_pod_option(CLI::App& command, std::string& pod) {
  command.add_option("--pod", pod, "UID, name or namespace/name")->type_name("POD")->required();
}

void add_dry_run(CLI::App& command, AgentOptions& options) {
  command.add_flag("--dry-run", options.dry_run,
                   "Tell what would come out, store and enforce nothing");
}

void print_dry_run(const AgentOptions& options) {
  if (options.dry_run) fmt::print("nothing stored (--dry-run)\n");
}

Result<agent::NodeAgent> open_agent(const AgentOptions& options) {
  PINFOLD_LET(auto config, read_config(options));
  PINFOLD_LET(auto machine, read_machine(options));
  agent::AgentOptions opened;
  opened.move_pages = options.moves_pages;
  opened.state_dir = options.state_dir;
  opened.cgroup_root = options.cgroup_root;
  opened.enforce = !options.no_enforce;
  opened.dry_run = options.dry_run;
  return agent::open_agent(std::move(machine), std::move(config), opened);
}

int report_not_enforced(const Error& error) {
  fmt::print(stderr,
             "pinfold: decided and stored, but the kernel does not have it: {}\n"
             "pinfold: run 'pinfold reconcile' once the cause is gone\n",
             error.message);
  return kNo;
}

}  // namespace pinfold::tools
