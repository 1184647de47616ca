#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "observe_parts.hpp"

namespace pinfold::audit {
namespace {

/// The kubelet with the lowest process id. A kubelet in a container is one, too.
void find_process(const Tree& tree, ObservedKubelet& kubelet, Problems& problems) {
  for (const pid_t pid : list_pids(tree, problems)) {
    const auto command = tree.read_exactly(fmt::format("/proc/{}/cmdline", pid));
    if (!command) continue;  // observe_processes names what cannot be read of a process
    auto flags = kubelet_flags(parse_command_line(*command));
    if (!flags) continue;
    kubelet.pid = pid;
    kubelet.flags = *std::move(flags);
    return;
  }
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
  find_process(tree, kubelet, problems);
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
