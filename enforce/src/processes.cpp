#include "pinfold/enforce/processes.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "fields.hpp"
#include "kernel_files.hpp"

namespace pinfold::enforce {
namespace {

constexpr const char* kProcsFile = "cgroup.procs";

void sort_unique(std::vector<pid_t>& pids) {
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
}

Result<std::vector<pid_t>> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  while (!text.empty()) {
    const std::string_view line = next_field(text, '\n');
    pid_t pid = 0;
    if (!read_number(line, pid)) {
      return fail(ErrorCode::kIo, fmt::format("'{}': expected a process id", line.substr(0, 40)));
    }
    if (pid != 0) pids.push_back(pid);  // 0: a process in another pid namespace
  }
  sort_unique(pids);
  return pids;
}

/// Returns the processes of a group and all groups below it. A group that does not exist has none.
Result<std::vector<pid_t>> processes_below(CgroupFs& fs, const std::string& path, int depth) {
  constexpr int kMaxDepth = 16;
  std::vector<pid_t> all;
  auto text = fs.read(path, kProcsFile);
  if (!text && is_gone(text.error())) return all;
  // EOPNOTSUPP: a threaded group, whose parent lists its processes.
  if (!text && text.error().sys_errno != EOPNOTSUPP) return fail(std::move(text).error());
  PINFOLD_LET(auto pids, parse_pids(text ? *text : ""));
  auto below = fs.children(path);
  if (!below && !is_gone(below.error())) return fail(std::move(below).error());
  if (!below || depth == kMaxDepth) return pids;
  for (const std::string& child : *below) {
    PINFOLD_LET(
        auto more,
        processes_below(fs, path.empty() ? child : fmt::format("{}/{}", path, child), depth + 1));
    pids.insert(pids.end(), more.begin(), more.end());
  }
  sort_unique(pids);
  return pids;
}

class ThisKernel final : public ProcessTable {
 public:
  [[nodiscard]] std::optional<ProcessId> identify(pid_t pid) const override {
    return enforce::identify(pid);
  }
  [[nodiscard]] std::string cpuset_path(pid_t pid, CgroupVersion cpusets) const override {
    return enforce::cpuset_path(pid, cpusets);
  }
  [[nodiscard]] std::vector<CpuSet> allowed_cpus(pid_t pid) const override {
    return enforce::allowed_cpus(pid);
  }
  [[nodiscard]] Result<void> widen_affinity(pid_t pid) const override {
    return enforce::widen_affinity(pid);
  }
};

}  // namespace

const ProcessTable& this_kernel() {
  static const ThisKernel kTable;
  return kTable;
}

Result<std::vector<pid_t>> processes_below(const Group& group) {
  return processes_below(*group.cpuset().fs, group.cpuset().path, 0);
}

Result<std::vector<pid_t>> processes_below(const std::string& directory) {
  PINFOLD_LET(const auto fs, open_named_cgroup_fs(directory));
  return processes_below(*fs, "", 0);
}

Result<std::vector<pid_t>> processes(const Group& group) {
  if (group.is_adopted()) return processes_below(group);
  std::vector<pid_t> all;
  for (const Group::Part& part : group.parts) {
    if (group.is_container) {
      PINFOLD_LET(const auto pids, processes_below(*part.fs, part.path, 0));
      all.insert(all.end(), pids.begin(), pids.end());
      continue;
    }
    auto text = part.fs->read(part.path, kProcsFile);
    if (!text && text.error().code == ErrorCode::kNotFound) continue;
    if (!text) return fail(std::move(text).error());
    PINFOLD_LET_WRAP(auto pids, parse_pids(*text), fmt::format("'{}/{}'", part.path, kProcsFile));
    all.insert(all.end(), pids.begin(), pids.end());
  }
  sort_unique(all);
  return all;
}

Result<bool> holds(const Group& group, pid_t process) {
  for (const Group::Part& part : group.parts) {
    PINFOLD_LET(auto text, part.fs->read(part.path, kProcsFile));
    PINFOLD_LET(auto pids, parse_pids(text));
    if (!std::binary_search(pids.begin(), pids.end(), process)) return false;
  }
  return true;
}

Result<void> attach(const Group& group, pid_t process) {
  for (const Group::Part& part : group.parts) {
    PINFOLD_TRY(part.fs->write(part.path, kProcsFile, std::to_string(process)));
  }
  return {};
}

Result<void> kill_processes(const Group& group, std::chrono::milliseconds timeout) {
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (true) {
    PINFOLD_LET(auto pids, processes(group));
    if (pids.empty()) return {};
    if (std::chrono::steady_clock::now() > end) {
      return fail(ErrorCode::kBusy, fmt::format("'{}' still has processes after {} ms: {}",
                                                group.label, timeout.count(), to_list(pids)));
    }
    // cgroup.kill ends all processes at once, including those that fork meanwhile. Older kernels
    // and cgroup v1 do not have it.
    const Group::Part& part = group.cpuset();
    const bool at_once = group.is_v2() && part.fs->write(part.path, "cgroup.kill", "1").has_value();
    if (!at_once && !group.is_this_kernel()) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("'{}' has processes of another kernel, which only cgroup.kill could "
                              "kill: {}",
                              group.label, to_list(pids)));
    }
    for (const pid_t pid : pids) {
      if (!at_once && pid > 1 && pid != ::getpid()) (void)::kill(pid, SIGKILL);
    }
    std::this_thread::sleep_for(kPause);
  }
}

std::string to_list(const std::vector<pid_t>& processes) {
  constexpr std::ptrdiff_t kShown = 8;
  const auto end = processes.begin() + std::min(kShown, std::ssize(processes));
  std::string text = fmt::format("{}", fmt::join(processes.begin(), end, ", "));
  return end == processes.end() ? text : text + ", ...";
}

std::optional<ProcessStat> stat_of(pid_t pid) {
  constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
  const std::string text = read_process_file(pid, "stat");
  std::string_view rest = text;
  // The second field is the name in parentheses, which may contain any character.
  const std::size_t name_end = rest.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(name_end + 2);
  if (next_field(rest, ' ') == "Z") return std::nullopt;
  ProcessStat stat;
  std::uint64_t flags = 0;
  const auto skip = [&rest](int count) {
    for (int i = 0; i < count; ++i) next_field(rest, ' ');
  };
  if (!read_number(next_field(rest, ' '), stat.parent)) return std::nullopt;
  skip(4);  // fields 5 to 8
  if (!read_number(next_field(rest, ' '), flags)) return std::nullopt;
  skip(12);  // fields 10 to 21
  if (!read_number(next_field(rest, ' '), stat.start_time)) return std::nullopt;
  stat.is_kernel_thread = (flags & kKernelThread) != 0;
  return stat;
}

std::optional<ProcessId> identify(pid_t pid) {
  const auto stat = stat_of(pid);
  return stat ? std::optional(ProcessId{pid, stat->start_time}) : std::nullopt;
}

bool descends_from(pid_t process, pid_t ancestor) {
  while (process > 0 && process != ancestor) {
    const auto stat = stat_of(process);
    if (!stat) return false;
    process = stat->parent;
  }
  return process == ancestor;
}

std::string cpuset_path(pid_t pid, CgroupVersion cpusets) {
  return cpuset_path(read_process_file(pid, "cgroup"), cpusets);
}

bool is_within(std::string_view path, std::string_view group) {
  const std::string inner = fmt::format("/{}/", group);
  return (std::string(path) + "/").find(inner) != std::string::npos;
}

Result<std::string> directory_of_process(pid_t pid, CgroupVersion cpusets) {
  PINFOLD_LET(auto mounts, parse_mountinfo(read_kernel_file("/proc/self/mountinfo")));
  PINFOLD_LET_WRAP(auto directory,
                   group_of_process(read_process_file(pid, "cgroup"), mounts, cpusets),
                   fmt::format("'/proc/{}/cgroup'", pid));
  return directory;
}

}  // namespace pinfold::enforce
