#pragma once

#include <optional>
#include <string>
#include <vector>

#include "output.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/socket/unix_socket.hpp"
#include "pinfold/verbs/reconfigure.hpp"
#include "pinfold/worker/snapshot.hpp"

namespace pinfold::tools {

/// Options that determine a machine and its configuration.
struct NodeOptions {
  std::string state_dir = agent::kDefaultStateDir;
  std::string config;  ///< "": STATE_DIR/config.yaml if it exists, else the kubelet's defaults
  std::vector<std::string> kubelet_flags;  ///< override `config`: command lines, or files of them
  std::string machine;                     ///< a file; "": discovered
  std::string sysfs = "/";
  std::string profile;  ///< "": from the configuration
  agent::ProfileSource profile_source = agent::ProfileSource::kCommandLine;  ///< of `profile`
  std::string
      kubelet_binary;  ///< its version determines the profile if nothing else does; "": not run
  bool insecure_state_dir = false;
};
using verbs::NodeConfig;
/// Declares all NodeOptions except the state directory.
[[nodiscard]] std::vector<cli::Option> node_options(NodeOptions& options);
/// Reads the configuration, and prints warnings to standard error.
[[nodiscard]] Result<NodeConfig> read_config(const NodeOptions& options);
/// Reads `text` in place of the configuration, without warnings; nullopt: the configuration itself.
[[nodiscard]] Result<NodeConfig> read_config(const NodeOptions& options,
                                             const std::optional<std::string>& text);
/// Reads or discovers the machine, and prints the warnings of discovery to standard error.
[[nodiscard]] Result<Machine> read_machine(const NodeOptions& options);
[[nodiscard]] Result<Node> make_node(const NodeOptions& options, const Config& config);

/// Options of every command that works on the state of a node.
struct AgentOptions : NodeOptions {
  std::string cgroup_root;  ///< "": the default
  bool no_enforce = false;
  bool is_query = false;  ///< the command only reads
  bool moves_pages = false;
  bool keeps_affinity = false;  ///< see agent::AgentOptions::reset_affinity
  bool hides_warnings = false;  ///< open_agent prints no warnings of the agent
  bool dry_run = false;
  bool release_unknown = false;  ///< opening a session releases the resources of held pods
  std::string socket = socket::kDefaultSocket;
  agent::LogSink log;  ///< gets warnings in place of standard error
  OutputFormat output = OutputFormat::kText;
};
[[nodiscard]] std::vector<cli::Option> agent_options(AgentOptions& options);

/// --kubelet-flags.
[[nodiscard]] cli::Option kubelet_flags_option(std::vector<std::string>& flags);
/// --state-dir.
[[nodiscard]] cli::Option state_dir_option(std::string& state_dir);
/// --insecure-state-dir, for a command that opens a state directory.
[[nodiscard]] cli::Option insecure_state_dir_option(bool& is_insecure);
/// --pod, for a command about one pod: see agent::find_pod_uid.
[[nodiscard]] cli::Option pod_option(std::string& pod);
/// --container, for a command about one container of that pod.
[[nodiscard]] cli::Option container_option(std::string& container);
/// --dry-run, for a command that changes the state.
[[nodiscard]] cli::Option dry_run_option(AgentOptions& options);
/// --release-unknown, for a command that opens the agent to write.
[[nodiscard]] cli::Option release_unknown_option(AgentOptions& options);
/// After a dry run, prints that nothing was stored.
void print_dry_run(const AgentOptions& options);

/// Converts the options to those of the agent itself; its warnings go to standard error.
[[nodiscard]] agent::AgentOptions agent_options_of(const AgentOptions& options,
                                                   agent::ProfileSource profile_source);
/// Rewords the error of an agent that does not open: the kubelet's advice to drain the node and
/// delete its state is replaced with advice that preserves the state.
[[nodiscard]] Error with_own_advice(const AgentOptions& options, Error error);
/// Opens the agent that the options describe. Prints warnings to standard error.
[[nodiscard]] Result<agent::NodeAgent> open_agent(const AgentOptions& options);

/// Formats the table of containers, followed by those that differ from the desired state. Observed
/// values have their own columns if the style is wide enough; else only a verdict is shown.
[[nodiscard]] std::string container_table(const std::vector<agent::PodStatus>& pods, bool enforced,
                                          const Style& style);

/// Formats the comparison of a service with mode observe.
[[nodiscard]] std::string comparison_text(const verbs::Comparison& comparison);
/// Formats the facts of a trace, one line each.
[[nodiscard]] std::string trace_text(const Trace& trace);

/// Reports that a decision is stored but not yet applied to the kernel; returns kNo.
ExitStatus report_not_enforced(const Error& error);

}  // namespace pinfold::tools
