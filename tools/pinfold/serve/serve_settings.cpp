#include "serve/serve_settings.hpp"

#include <chrono>
#include <utility>

#include "pinfold/base/read_file.hpp"

namespace pinfold::tools {

using settings::Settings;

Result<Settings> read_settings(const ServeOptions& options) {
  Settings settings;
  const std::string file = options.settings_file.value_or(settings::kDefaultSettingsFile);
  auto text = read_file(file);
  const bool may_be_absent = !options.settings_file;
  if (text) {
    PINFOLD_LET_WRAP(settings, settings::parse_settings(*text), file);
  } else if (!may_be_absent || text.error().code != ErrorCode::kNotFound) {
    return fail(std::move(text).error());
  }
  const auto set = [](std::string& value, const std::optional<std::string>& option) {
    if (option) value = *option;
  };
  set(settings.state_dir, options.state_dir);
  set(settings.config, options.config);
  set(settings.kubelet_flags, options.kubelet_flags);
  set(settings.machine, options.machine);
  set(settings.profile, options.profile);
  set(settings.kubelet_binary, options.kubelet_binary);
  set(settings.cgroup_root, options.cgroup_root);
  set(settings.socket, options.socket);
  set(settings.grpc_socket, options.grpc_socket);
  set(settings.pod_resources_socket, options.pod_resources_socket);
  set(settings.metrics_address, options.metrics_address);
  if (options.no_enforce) settings.enforce = false;
  if (options.keep_affinity) settings.reset_affinity = false;
  if (options.move_pages) settings.move_pages = true;
  if (options.interval_s > 0) {
    settings.reconcile_interval = std::chrono::seconds(options.interval_s);
  }
  if (options.log_level) {
    PINFOLD_LET_WRAP(settings.log_level, settings::parse_log_level(*options.log_level),
                     "--log-level");
  }
  return settings;
}

AgentArguments agent_arguments_of(const Settings& settings, bool is_insecure, agent::LogSink log) {
  AgentArguments options;
  options.state_dir = settings.state_dir;
  options.config = settings.config;
  if (!settings.kubelet_flags.empty()) options.kubelet_flags = {settings.kubelet_flags};
  options.machine = settings.machine;
  options.profile = settings.profile;
  options.kubelet_binary = settings.kubelet_binary;
  options.cgroup_root = settings.cgroup_root;
  options.no_enforce = !settings.enforce;
  options.keeps_affinity = !settings.reset_affinity;
  options.quiet = settings.quiet;
  options.insecure_state_dir = is_insecure;
  options.log = std::move(log);
  return options;
}

agent::WatchTimes watch_times(const Settings& settings) {
  agent::WatchTimes times;
  times.interval = settings.reconcile_interval;
  return times;
}

agent::PageMoves page_moves(const Settings& settings) {
  return settings.move_pages ? agent::PageMoves::kOn : agent::PageMoves::kOff;
}

}  // namespace pinfold::tools
