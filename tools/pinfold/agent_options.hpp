#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "command.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/status.hpp"

namespace pinfold::tools {

/// A machine and its configuration.
struct NodeOptions {
  std::string state_dir = "/var/lib/pinfold";
  std::string config;   ///< "": STATE_DIR/config.yaml if it is there, else the kubelet's defaults
  std::string machine;  ///< a node.json; "": discovered
  std::string sysfs = "/";
  std::string profile;  ///< "": what the configuration says
};
/// All but the state directory.
void add_node_options(CLI::App& command, NodeOptions& options);
/// Warnings go to standard error.
[[nodiscard]] Result<Config> read_config(const NodeOptions& options);
[[nodiscard]] Result<Node> make_node(const NodeOptions& options, Config config);

/// What every command that works on a node's state takes.
struct AgentOptions : NodeOptions {
  std::string cgroup_root;  ///< "": the default one
  bool no_enforce = false;
  bool moves_pages = false;
  bool dry_run = false;
  OutputFormat output = OutputFormat::kText;
};
enum class HasOutput { kNo, kYes };
void add_agent_options(CLI::App& command, AgentOptions& options,
                       HasOutput has_output = HasOutput::kYes);

/// --pod, of a command that is about one pod: see agent::find_pod_uid.
void add_pod_option(CLI::App& command, std::string& pod);
/// --dry-run, of a command that changes the state.
void add_dry_run(CLI::App& command, AgentOptions& options);
/// Tells people that it was one.
void print_dry_run(const AgentOptions& options);

/// Opens the agent that the options describe. Warnings go to standard error.
[[nodiscard]] Result<agent::NodeAgent> open_agent(const AgentOptions& options);

/// The table of containers, one line each.
[[nodiscard]] std::string container_table(const std::vector<agent::PodStatus>& pods, bool enforced);

/// The node with who has which CPUs drawn over it.
[[nodiscard]] std::string node_picture(const agent::NodeAgent& agent,
                                       const std::vector<agent::PodStatus>& pods);

/// Tells the operator about a decision that the kernel does not have yet; returns kNo.
int report_not_enforced(const Error& error);

}  // namespace pinfold::tools
