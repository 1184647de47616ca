#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "observe_parts.hpp"
#include "pinfold/audit/systemd_unit.hpp"

namespace pinfold::audit {
namespace {

/// Finds the kubelet with the lowest process id, even inside a container; if there is none, the
/// program that contains or starts one.
std::optional<KubeletHost> find_process(const Tree& tree, ObservedKubelet& kubelet,
                                        Problems& problems) {
  std::optional<KubeletHost> host;
  for (const pid_t pid : list_pids(tree, problems)) {
    const auto command = tree.read_exactly(fmt::format("/proc/{}/cmdline", pid));
    if (!command) continue;  // observe_processes reports it
    const auto words = parse_command_line(*command);
    auto flags = kubelet.pid && kubelet.host.empty() ? std::nullopt : kubelet_flags(words);
    if (flags) {
      kubelet.pid = pid;
      kubelet.host.clear();
      kubelet.flags = *std::move(flags);
    }
    if (host) continue;
    host = kubelet_host(words);
    if (!host || !host->distribution->is_inside || kubelet.pid) continue;
    kubelet.pid = pid;
    kubelet.host = host->title;
  }
  return host;
}

/// Adds what is known about a kubelet that is part of another program or does not run.
void add_distribution(const Tree& tree, std::optional<KubeletHost> host, bool has_config,
                      ObservedKubelet& kubelet) {
  const bool has_own_process = kubelet.pid && kubelet.host.empty();
  if (!host && !kubelet.pid && !has_config) host = host_by_files(tree);
  if (!host) return;
  kubelet.unit = unit_of_host(tree, *host);
  ObservedKubelet read = kubelet;
  observe_host(tree, *std::move(host), read);
  if (has_own_process) {  // its own command line is more precise
    kubelet.settings_path = read.settings_path;
  } else {
    kubelet = std::move(read);
  }
}

/// Reads the flags that systemd would start a stopped kubelet with, for instance because this
/// program runs before it.
void observe_unit(const Tree& tree, ObservedKubelet& kubelet) {
  auto read = read_unit(tree, "kubelet.service");
  kubelet.may_have_flags = !read;
  if (!read) return;
  kubelet.flags = std::move(read->flags);
  kubelet.has_command = read->is_command;
  if (const auto checked = check_unit(*read); !checked)
    kubelet.unit_error = checked.error().message;
}

std::optional<std::string> read_state_file(const Tree& tree, const std::string& path,
                                           Problems& problems) {
  auto bytes = tree.read_exactly(path);
  if (bytes) return *std::move(bytes);
  if (bytes.error().code != ErrorCode::kNotFound) problems.add(path, bytes.error());
  return std::nullopt;
}

}  // namespace

std::vector<pid_t> list_pids(const Tree& tree, Problems& problems) {
  const auto names = tree.list("/proc");
  std::vector<pid_t> pids;
  if (!names) problems.add("/proc", names.error());
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    const auto pid = parse_number(name);
    if (pid && *pid > 0 && *pid <= INT32_MAX) pids.push_back(static_cast<pid_t>(*pid));
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

checkpoint::KubeletFiles read_state_files(const Tree& tree, const std::string& root_dir,
                                          Problems& problems) {
  const auto read = [&](std::string_view name) {
    return read_state_file(tree, fmt::format("{}/{}", root_dir, name), problems);
  };
  return {read(checkpoint::kCpuFileName), read(checkpoint::kMemoryFileName)};
}

ObservedKubelet observe_kubelet(const Tree& tree, const ObserveOptions& options,
                                Problems& problems) {
  ObservedKubelet kubelet;
  auto host = find_process(tree, kubelet, problems);
  add_distribution(tree, std::move(host), has_usual_config(tree, options), kubelet);
  const bool is_unknown = !kubelet.pid && kubelet.settings_path.empty();
  if (is_unknown && options.kubelet_config.empty()) observe_unit(tree, kubelet);
  const auto root_dir = kubelet.flags.find("--root-dir");
  kubelet.root_dir =
      root_dir == kubelet.flags.end() ? std::string(checkpoint::kKubeletDir) : root_dir->second;
  if (!options.kubelet_dir.empty()) kubelet.root_dir = options.kubelet_dir;
  while (kubelet.root_dir.ends_with('/')) kubelet.root_dir.pop_back();
  observe_config(tree, options, kubelet);
  kubelet.files = read_state_files(tree, kubelet.root_dir, problems);
  return kubelet;
}

}  // namespace pinfold::audit
