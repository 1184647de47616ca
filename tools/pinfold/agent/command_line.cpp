#include "agent/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace pinfold::tools {

std::string shell_word(const std::string& word) {
  const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_./:=@%+,-").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_line(const std::string& command, const AgentArguments& options) {
  const AgentArguments defaults;
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

}  // namespace pinfold::tools
