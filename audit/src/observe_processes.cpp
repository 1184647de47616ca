#include <fmt/format.h>

#include <set>
#include <utility>

#include "observe_parts.hpp"

namespace pinfold::audit {
namespace {

class ProcessReader {
 public:
  ProcessReader(const Tree& tree, const ObservedGroups& cgroups, Problems& problems)
      : tree_(tree), cgroups_(cgroups), problems_(problems) {}

  /// Returns nullopt for a process that has ended or cannot be read at all.
  [[nodiscard]] std::optional<ObservedProcess> read(pid_t pid, bool is_in_container) const {
    ObservedProcess process{.pid = pid, .stat = {}};
    const auto stat = parse_proc_stat(file(pid, "stat").value_or(""));
    const auto cpus = parse_allowed_cpus(file(pid, "status").value_or(""));
    if (!stat || stat->has_ended || !cpus) return std::nullopt;
    process.stat = *stat;
    process.cpus = *cpus;
    if (cgroups_.version) {
      process.group = enforce::cpuset_path(file(pid, "cgroup").value_or(""), *cgroups_.version);
    }
    if (stat->is_kernel_thread) return process;
    read_threads(process);
    const auto name = tree_.link(fmt::format("/proc/{}/ns/pid", pid));
    if (name) process.pid_namespace = *name;
    if (!name && !is_gone(name.error())) problems_.add("/proc/PID/ns/pid", name.error());
    if (is_in_container) {
      process.pages = enforce::parse_numa_maps(file(pid, "numa_maps").value_or(""));
    }
    return process;
  }

 private:
  [[nodiscard]] std::optional<std::string> file(pid_t pid, const char* name) const {
    auto text = tree_.read(fmt::format("/proc/{}/{}", pid, name));
    if (text) return *std::move(text);
    if (!is_gone(text.error())) problems_.add(fmt::format("/proc/PID/{}", name), text.error());
    return std::nullopt;
  }

  void read_threads(ObservedProcess& process) const {
    const std::string directory = fmt::format("/proc/{}/task", process.pid);
    const auto names = tree_.list_directories(directory);
    if (!names) return;
    for (const std::string& name : *names) {
      const auto tid = parse_number(name);
      if (!tid || *tid == process.pid || *tid <= 0 || *tid > INT32_MAX) continue;
      const auto status = tree_.read(fmt::format("{}/{}/status", directory, name));
      auto cpus = status ? parse_allowed_cpus(*status) : std::nullopt;
      if (!cpus || *cpus == process.cpus) continue;
      process.threads.push_back({static_cast<pid_t>(*tid), *std::move(cpus)});
    }
  }

  const Tree& tree_;
  const ObservedGroups& cgroups_;
  Problems& problems_;
};

}  // namespace

std::map<pid_t, ObservedProcess> observe_processes(const Tree& tree, const ObservedGroups& cgroups,
                                                   Problems& problems) {
  std::set<pid_t> in_containers;
  for (const ObservedGroup& group : cgroups.groups) {
    if (group.name.role != GroupRole::kContainer) continue;
    in_containers.insert(group.processes.begin(), group.processes.end());
  }
  const ProcessReader reader(tree, cgroups, problems);
  std::map<pid_t, ObservedProcess> processes;
  for (const pid_t pid : list_pids(tree, problems)) {
    auto process = reader.read(pid, in_containers.contains(pid));
    if (process) processes.emplace(pid, *std::move(process));
  }
  return processes;
}

}  // namespace pinfold::audit
