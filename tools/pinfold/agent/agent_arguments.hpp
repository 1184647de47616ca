#pragma once

#include <string>
#include <vector>

#include "output.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/socket/unix_socket.hpp"

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
      kubelet_binary;    ///< its version determines the profile if nothing else does; "": not run
  std::string pod_logs;  ///< "": SYSFS/var/log/pods, unless the machine is from a file
  bool insecure_state_dir = false;
};
/// Returns the path of that machine's /proc/iomem; "" for a machine from a file.
[[nodiscard]] std::string iomem_of(const NodeOptions& options);
/// Returns the directory of --pod-logs or its default; "": none.
[[nodiscard]] std::string pod_logs_of(const NodeOptions& options);
/// Declares all NodeOptions except the state directory.
[[nodiscard]] std::vector<cli::Option> node_options(NodeOptions& options);

/// Options of every command that works on the state of a node.
struct AgentArguments : NodeOptions {
  std::string cgroup_root;  ///< "": the default
  bool no_enforce = false;
  bool is_query = false;  ///< the command only reads
  bool moves_pages = false;
  bool keeps_affinity = false;                        ///< see agent::AgentOptions::reset_affinity
  quiet::QuietLevel quiet = quiet::QuietLevel::kOff;  ///< see agent::AgentOptions
  bool hides_warnings = false;  ///< open_agent prints no warnings of the agent
  bool dry_run = false;
  bool release_unknown = false;  ///< opening a session releases the resources of held pods
  std::string socket = socket::kDefaultSocket;
  agent::LogSink log;  ///< gets warnings in place of standard error
  OutputFormat output = OutputFormat::kText;
};
[[nodiscard]] std::vector<cli::Option> agent_arguments(AgentArguments& options);
/// Converts the options to those of the agent itself; its warnings go to standard error.
[[nodiscard]] agent::AgentOptions agent_options_of(const AgentArguments& options,
                                                   agent::ProfileSource profile_source);

/// Declares --kubelet-flags.
[[nodiscard]] cli::Option kubelet_flags_option(std::vector<std::string>& flags);
/// Declares --state-dir.
[[nodiscard]] cli::Option state_dir_option(std::string& state_dir);
/// Declares --pod-logs, for a command that opens a state directory.
[[nodiscard]] cli::Option pod_logs_option(std::string& directory);
/// Declares --insecure-state-dir, for a command that opens a state directory.
[[nodiscard]] cli::Option insecure_state_dir_option(bool& is_insecure);
/// Declares --pod, for a command about one pod: see agent::find_pod_uid.
[[nodiscard]] cli::Option pod_option(std::string& pod);
/// Declares --container, for a command about one container of that pod.
[[nodiscard]] cli::Option container_option(std::string& container);
/// Declares --dry-run, for a command that changes the state.
[[nodiscard]] cli::Option dry_run_option(AgentArguments& options);
/// Declares --release-unknown, for a command that opens the agent to write.
[[nodiscard]] cli::Option release_unknown_option(AgentArguments& options);
/// After a dry run, prints that nothing was stored.
void print_dry_run(const AgentArguments& options);

}  // namespace pinfold::tools
