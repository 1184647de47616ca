#include "agent/command_line.hpp"

#include <fmt/format.h>

#include "agent/config_source.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold::tools {
namespace {

/// Returns "pinfold checkpoint repair --config FILE ...".
std::string repair_command(NodeOptions options) {
  options.state_dir = NodeOptions().state_dir;  // that command takes it as its argument
  options.insecure_state_dir = false;
  return command_line("checkpoint repair", options);
}

/// Returns how a pod is removed although a kubelet does not start from the state.
std::string remove_command(NodeOptions options) {
  options.profile = "fixed";
  return command_line("remove --pod UID", options);
}

/// Returns what to do about the error of a state that does not start: "; ...".
std::string advice_for(const NodeOptions& options, const std::string& message) {
  const std::string repair =
      fmt::format("'{} {}'", repair_command(options), shell_word(options.state_dir));
  if (message.find("default cpuset cannot be empty") != std::string::npos) {
    return fmt::format(
        "; exclusive CPUs have used up the shared pool, and a kubelet does not start without one: "
        "'{}' ends a pod",
        remove_command(options));
  }
  if (message.find("differs from state checkpoint policy") == std::string::npos) {
    return fmt::format("; {} recovers what can be read", repair);
  }
  if (!names_config(options) && !has_own_config(options)) {
    return fmt::format(
        "; no configuration is given, so the kubelet's defaults apply: name the configuration of "
        "the state with --config, for example '{}'",
        own_config_file(options));
  }
  return fmt::format(
      "; the state belongs to another configuration: name that one with --config, or switch to "
      "this one with '{}', in a kubelet's directory with {}",
      command_line("reconfigure", options), repair);
}

}  // namespace

std::string command_line(const std::string& command, const NodeOptions& options) {
  const NodeOptions defaults;
  std::string line = "pinfold " + command;
  const auto add = [&](const char* name, const std::string& value, const std::string& initial) {
    if (value != initial) line += fmt::format(" {} {}", name, shell_word(value));
  };
  add("--state-dir", options.state_dir, defaults.state_dir);
  if (options.insecure_state_dir) line += " --insecure-state-dir";
  add("--config", options.config, defaults.config);
  for (const std::string& flags : options.kubelet_flags) add("--kubelet-flags", flags, "");
  add("--machine", options.machine, defaults.machine);
  add("--sysfs", options.sysfs, defaults.sysfs);
  add("--profile", options.profile, defaults.profile);
  add("--kubelet-binary", options.kubelet_binary, defaults.kubelet_binary);
  add("--pod-logs", options.pod_logs, defaults.pod_logs);
  return line;
}

std::string changing_command_line(const std::string& command, const AgentArguments& options) {
  const AgentArguments defaults;
  std::string line = command_line(command, options);
  if (options.no_enforce) line += " --no-enforce";
  if (!options.cgroup_root.empty()) line += " --cgroup-root " + shell_word(options.cgroup_root);
  if (options.socket != defaults.socket) line += " --socket " + shell_word(options.socket);
  return line;
}

Error with_own_advice(const NodeOptions& options, Error error) {
  const auto says = [&](std::string_view text) {
    return error.message.find(text) != std::string::npos;
  };
  const bool is_of_state = says("could not restore state from checkpoint") ||
                           (error.code == ErrorCode::kCorrupt && says("start: "));
  const std::string_view adapts = "'pinfold reconfigure' adapts it";
  if (const auto at = error.message.find(adapts); at != std::string::npos) {
    error.message.replace(at, adapts.size(),
                          fmt::format("'{}' adapts it", command_line("reconfigure", options)));
  } else if (is_of_state && !says(agent::kNoRepair)) {
    error.message += advice_for(options, error.message);
  }
  if (says("start: nodeallocatable") && names_config(options)) {
    error = std::move(error).wrap(config_name(options));
  }
  return error;
}

}  // namespace pinfold::tools
