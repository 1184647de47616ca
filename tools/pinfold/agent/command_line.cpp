#include "agent/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "agent/config_source.hpp"
#include "checkpoint/checkpoint_repair.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/checkpoint/note.hpp"
#include "pinfold/text/words.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

/// Returns advice for a state that is for another configuration, if none is given.
std::string config_advice(const NodeOptions& options) {
  return fmt::format(
      "no configuration is given, so the kubelet's defaults apply: name the configuration of the "
      "state with --config, for example '{}'",
      own_config_file(options));
}

/// Returns "'pinfold checkpoint repair --config FILE ... DIRECTORY'".
std::string repair_command(NodeOptions options, const std::string& command) {
  const std::string directory = options.state_dir;
  options.state_dir = NodeOptions().state_dir;  // that command takes it as its argument
  options.insecure_state_dir = false;
  options.pod_logs.clear();  // that command has no such option
  return fmt::format("'{} {}'", command_line(command, options), shell_word(directory));
}

/// Returns the losses: "a: x; b: y; c: z; 2 more".
std::string losses_text(const std::vector<checkpoint::Note>& lost) {
  std::vector<std::string> parts;
  parts.reserve(lost.size());
  for (const checkpoint::Note& note : lost) {
    parts.push_back(fmt::format("{}: {}", note.object, note.text));
  }
  return fmt::format("{}", fmt::join(first_named(std::move(parts), 3, "more"), "; "));
}

/// Returns the repair that works, with what it costs.
std::string repair_advice(const NodeOptions& options) {
  const std::string repair = repair_command(options, "checkpoint repair");
  const auto preview = preview_repair(options);
  if (!preview) return repair + " recovers what can be read";
  if (!preview->starts) {
    return repair_command(options, "checkpoint repair --dry-run") +
           " shows what is wrong; no repair makes it start";
  }
  if (preview->lost.empty()) return repair + " repairs the files without loss";
  return fmt::format("{} repairs the files, but loses: {}",
                     repair_command(options, "checkpoint repair --accept-loss"),
                     losses_text(preview->lost));
}

/// Returns how a pod is removed although a kubelet does not start from the state.
std::string remove_command(NodeOptions options) {
  options.profile = "fixed";
  return advised_command_line("remove --pod UID", options);
}

/// Returns what to do about the error of a state that does not start: "; ...".
std::string advice_for(const NodeOptions& options, const std::string& message) {
  if (message.find("default cpuset cannot be empty") != std::string::npos) {
    return fmt::format(
        "; exclusive CPUs have used up the shared pool, and a kubelet does not start without one: "
        "'{}' removes a pod",
        remove_command(options));
  }
  if (message.find("differs from state checkpoint policy") == std::string::npos) {
    return "; " + repair_advice(options);
  }
  if (lacks_config(options)) return "; " + config_advice(options);
  return fmt::format(
      "; the state belongs to another configuration: name that one with --config, or use this one: "
      "{}",
      repair_advice(options));
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

std::string advised_command_line(const std::string& command, const NodeOptions& options) {
  return command_line(command, options) + (options.machine.empty() ? "" : " --no-enforce");
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
    if (lacks_config(options) && !says("the state is for another machine")) {
      error.message.replace(at, std::string::npos, config_advice(options));
    } else {
      error.message.replace(
          at, adapts.size(),
          fmt::format("'{}' adapts it", advised_command_line("reconfigure", options)));
    }
  } else if (is_of_state && !says(agent::kNoRepair)) {
    error.message += advice_for(options, error.message);
  }
  if (says("start: nodeallocatable") && names_config(options)) {
    error = std::move(error).wrap(config_name(options));
  }
  return error;
}

}  // namespace pinfold::tools
