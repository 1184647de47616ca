#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include "pinfold/enforce/cgroups.hpp"

/// The part of Cgroups that deals with processes.
namespace pinfold::enforce {
namespace {

constexpr auto kPause = std::chrono::milliseconds(10);
/// How long the removal of a group waits for processes that have ended to be gone.
constexpr int kRemoveTries = 100;

Result<std::vector<pid_t>> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error != std::errc() || end != line.data() + line.size()) {
      return fail(ErrorCode::kIo, fmt::format("'{}': expected a process id", line.substr(0, 40)));
    }
    if (pid != 0) pids.push_back(pid);  // 0: a process of another pid namespace
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

std::string join(const std::vector<pid_t>& pids) {
  constexpr std::ptrdiff_t kShown = 8;
  const auto end = pids.begin() + std::min(kShown, std::ssize(pids));
  std::string text = fmt::format("{}", fmt::join(pids.begin(), end, ", "));
  return end == pids.end() ? text : text + ", ...";
}

/// Of a group and all groups below it. One that is not there has none.
Result<std::vector<pid_t>> processes_below(CgroupFs& fs, const std::string& path, int depth) {
  constexpr int kMaxDepth = 16;
  std::vector<pid_t> all;
  auto text = fs.read(path, "cgroup.procs");
  if (!text && text.error().code == ErrorCode::kNotFound) return all;
  // ENODEV: it was removed after it was opened. EOPNOTSUPP: a threaded group; its parent tells.
  if (!text && text.error().sys_errno == ENODEV) return all;
  if (!text && text.error().sys_errno != EOPNOTSUPP) return fail(std::move(text).error());
  PINFOLD_LET(auto pids, parse_pids(text ? *text : ""));
  auto below = fs.children(path);
  if (!below || depth == kMaxDepth) return pids;
  for (const std::string& child : *below) {
    PINFOLD_LET(
        auto more,
        processes_below(fs, path.empty() ? child : fmt::format("{}/{}", path, child), depth + 1));
    pids.insert(pids.end(), more.begin(), more.end());
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace

Result<std::vector<pid_t>> Cgroups::processes(const GroupName& name) {
  PINFOLD_LET(auto path, relative_path(name));
  if (const auto adopted = adopted_.find(name); adopted != adopted_.end()) {
    return processes_below(*adopted->second.fs, "", 0);
  }
  std::vector<pid_t> all;
  for (Hierarchy& hierarchy : hierarchies_) {
    auto text = hierarchy.fs->read(path, "cgroup.procs");
    if (!text && text.error().code == ErrorCode::kNotFound) continue;  // no such group there
    if (!text) return fail(std::move(text).error());
    PINFOLD_LET_WRAP(auto pids, parse_pids(*text), fmt::format("'{}/cgroup.procs'", path));
    all.insert(all.end(), pids.begin(), pids.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Result<bool> Cgroups::holds(const GroupName& name, pid_t process) {
  PINFOLD_LET(auto path, relative_path(name));
  for (Hierarchy& hierarchy : hierarchies_) {
    PINFOLD_LET(auto text, hierarchy.fs->read(path, "cgroup.procs"));
    PINFOLD_LET(auto pids, parse_pids(text));
    if (!std::binary_search(pids.begin(), pids.end(), process)) return false;
  }
  return true;
}

Result<void> Cgroups::attach(const GroupName& name, pid_t process) {
  PINFOLD_LET(auto path, relative_path(name));
  if (const auto adopted = adopted_.find(name); adopted != adopted_.end()) {
    return adopted->second.fs->write("", "cgroup.procs", std::to_string(process));
  }
  for (Hierarchy& hierarchy : hierarchies_) {
    PINFOLD_TRY(hierarchy.fs->write(path, "cgroup.procs", std::to_string(process)));
  }
  return {};
}

Result<void> Cgroups::kill(const GroupName& name, int timeout_ms) {
  PINFOLD_LET(auto place, place_of(name));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    PINFOLD_LET(auto pids, processes(name));
    if (pids.empty()) return {};
    if (std::chrono::steady_clock::now() > end) {
      return fail(ErrorCode::kBusy, fmt::format("'{}' still has processes after {} ms: {}",
                                                to_string(name), timeout_ms, join(pids)));
    }
    // cgroup.kill takes all at once, also those that fork meanwhile; older kernels and cgroup v1
    // do not have it.
    const bool at_once =
        cpuset_is_v2() && place.fs->write(place.path, "cgroup.kill", "1").has_value();
    for (const pid_t pid : pids) {
      if (!at_once && pid > 1 && pid != ::getpid()) (void)::kill(pid, SIGKILL);
    }
    std::this_thread::sleep_for(kPause);
  }
}

/// All hierarchies, and only if no process is left in any of them.
Result<void> Cgroups::remove(const GroupName& name, const std::string& path) {
  for (int tries = 1;; ++tries) {
    auto pids = processes(name);
    if (!pids) return fail(std::move(pids).error());
    if (!pids->empty()) {
      return fail(ErrorCode::kBusy, fmt::format("processes still run in it: {}", join(*pids)));
    }
    Result<void> removed;
    for (Hierarchy& hierarchy : hierarchies_) {
      removed = hierarchy.fs->remove_group(path);
      if (!removed) break;
    }
    if (removed) return {};
    // A process that has just ended leaves cgroup.procs before it lets go of the group.
    if (removed.error().sys_errno != EBUSY || tries >= kRemoveTries) return removed;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace pinfold::enforce
