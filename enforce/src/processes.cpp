#include "pinfold/enforce/processes.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

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
    if (pid == 0) {
      return fail(ErrorCode::kUnsupported,
                  "it has processes of another PID namespace, which are not visible here: expected "
                  "to run in the PID namespace of the host");
    }
    pids.push_back(pid);
  }
  sort_unique(pids);
  return pids;
}

/// Returns the processes of a group and all groups below it. A group that does not exist has none.
Result<std::vector<pid_t>> processes_below(CgroupFiles& fs, const std::string& path, int depth) {
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

}  // namespace

Result<std::vector<pid_t>> processes_below(const GroupReader& group) {
  return processes_below(*group.cpuset().fs, group.cpuset().path, 0);
}

Result<std::vector<pid_t>> processes_below(const std::string& directory) {
  PINFOLD_LET(const auto fs, open_named_cgroup_fs(directory));
  return processes_below(*fs, "", 0);
}

Result<std::vector<pid_t>> processes(const GroupReader& group) {
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

Result<bool> holds(const GroupReader& group, pid_t process) {
  for (const Group::Part& part : group.parts) {
    PINFOLD_LET(auto text, part.fs->read(part.path, kProcsFile));
    PINFOLD_LET(auto pids, parse_pids(text));
    if (!std::binary_search(pids.begin(), pids.end(), process)) return false;
  }
  return true;
}

Result<void> attach(const Group& group, pid_t process) {
  for (const Group::Part& part : group.parts) {
    PINFOLD_TRY(Group::fs(part).write(part.path, kProcsFile, std::to_string(process)));
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
    const bool at_once =
        group.is_v2() && Group::fs(part).write(part.path, "cgroup.kill", "1").has_value();
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

}  // namespace pinfold::enforce
