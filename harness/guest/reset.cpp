#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "agent.hpp"

// Scenarios on the same machine have one guest, one after the other. Between two of them the agent
// ends and removes what the first has left, and looks whether the guest is again what it was.
// docs/adr/0027 says why, and what it looks at.

namespace pinfold::guest {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kResetLimit(10);
constexpr unsigned kPauseUs = 2000;
constexpr std::uint64_t kKernelThread = 0x00200000;  ///< PF_KTHREAD of the kernel's sched.h

/// Names to what is known of them.
using Facts = std::map<std::string, std::string>;

/// Files of a cgroup that say how it was configured, not what it is doing. Version 1 and 2.
constexpr const char* kSettings[] = {"cgroup.clone_children",
                                     "cgroup.freeze",
                                     "cgroup.max.depth",
                                     "cgroup.max.descendants",
                                     "cgroup.subtree_control",
                                     "cgroup.type",
                                     "cpu.cfs_period_us",
                                     "cpu.cfs_quota_us",
                                     "cpu.idle",
                                     "cpu.max",
                                     "cpu.shares",
                                     "cpu.weight",
                                     "cpuset.cpu_exclusive",
                                     "cpuset.cpus",
                                     "cpuset.cpus.partition",
                                     "cpuset.mem_exclusive",
                                     "cpuset.mem_hardwall",
                                     "cpuset.memory_migrate",
                                     "cpuset.mems",
                                     "cpuset.sched_load_balance",
                                     "freezer.state",
                                     "memory.high",
                                     "memory.limit_in_bytes",
                                     "memory.low",
                                     "memory.max",
                                     "memory.min",
                                     "memory.soft_limit_in_bytes",
                                     "memory.swap.max",
                                     "memory.use_hierarchy",
                                     "notify_on_release",
                                     "pids.max"};
/// What the kernel changes itself, or what reading changes.
constexpr const char* kNoSettings[] = {"drop_caches", "ns_last_pid", "perf_event_max_sample_rate",
                                       "stat_refresh"};

std::string first_line(const std::string& path) {
  int failed = 0;
  const std::string text = read_text(path, failed);
  return failed == 0 ? text.substr(0, text.find('\n')) : "";
}

/// The values of the lines of /proc/PID/status that begin with one of `names`.
std::string status_of(const std::string& pid, std::initializer_list<const char*> names) {
  int failed = 0;
  std::istringstream lines(read_text("/proc/" + pid + "/status", failed));
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    for (const char* name : names) {
      if (line.starts_with(name)) found.append(line).append("; ");
    }
  }
  return found;
}

/// The fields of /proc/PID/stat after the program's name; empty if the process has ended.
std::vector<std::string> stat_of(const std::string& pid) {
  const std::string line = first_line("/proc/" + pid + "/stat");
  const std::size_t end = line.rfind(')');
  std::vector<std::string> fields;
  if (end == std::string::npos) return fields;
  std::istringstream rest(line.substr(end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

/// The processes of programs: "PID" to when it started, its groups, and where it may run.
Facts processes() {
  constexpr std::size_t kState = 0;
  constexpr std::size_t kFlags = 6;
  constexpr std::size_t kStart = 19;
  Facts found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const std::string pid = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(pid[0])) == 0) continue;
    const auto fields = stat_of(pid);
    if (fields.size() <= kStart || fields[kState] == "Z" || fields[kState] == "X") continue;
    if ((std::strtoull(fields[kFlags].c_str(), nullptr, 10) & kKernelThread) != 0) continue;
    int unread = 0;
    std::string groups = read_text("/proc/" + pid + "/cgroup", unread);
    std::replace(groups.begin(), groups.end(), '\n', ' ');
    found[pid] = first_line("/proc/" + pid + "/comm") + " since " + fields[kStart] + "; " + groups +
                 "; " + status_of(pid, {"Cpus_allowed_list", "Mems_allowed_list"});
  }
  return found;
}

/// "ID MOUNTPOINT" to the line of mountinfo.
Facts mounts() {
  Facts found;
  int failed = 0;
  std::istringstream lines(read_text("/proc/self/mountinfo", failed));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string id;
    std::string parent;
    std::string device;
    std::string root;
    std::string point;
    fields >> id >> parent >> device >> root >> point;
    found[id + " " + point] = line;
  }
  return found;
}

/// The groups of all hierarchies, and their settings.
Facts groups(const Agent& agent) {
  Facts found;
  for (const std::string& home : agent.hierarchies) {
    std::vector<std::string> folders = {home};
    std::error_code failed;
    for (fs::recursive_directory_iterator it(home, failed), end; !failed && it != end;
         it.increment(failed)) {
      if (it->is_directory(failed)) folders.push_back(it->path());
    }
    for (const std::string& folder : folders) {
      found[folder] = "a cgroup";
      for (const char* name : kSettings) {
        int unread = 0;
        const std::string file = folder + "/" + name;
        std::string text = read_text(file, unread);
        if (unread == 0) found[file] = std::move(text);
      }
    }
  }
  return found;
}

std::string facts_of(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return "";
  std::string text = std::to_string(facts.st_ino) + " " + std::to_string(facts.st_mode) + " " +
                     std::to_string(facts.st_uid) + " " + std::to_string(facts.st_gid);
  if (S_ISREG(facts.st_mode)) {
    text += " " + std::to_string(facts.st_size) + " " + std::to_string(facts.st_ctim.tv_sec) + "." +
            std::to_string(facts.st_ctim.tv_nsec);
  }
  return text;
}

/// All files that are not the kernel's.
Facts files() {
  Facts found;
  std::error_code failed;
  for (fs::recursive_directory_iterator it("/", failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string path = it->path();
    if (path == "/proc" || path == "/sys") {
      it.disable_recursion_pending();
      continue;
    }
    found[path] = facts_of(path);
  }
  return found;
}

/// The CPUs and huge pages that are there, modules, network devices, and the kernel's settings.
Facts kernel() {
  Facts found;
  const auto add = [&found](const std::string& path) {
    int failed = 0;
    std::string text = read_text(path, failed);
    if (failed == 0) found[path] = std::move(text);
  };
  std::error_code failed;
  for (const char* folder : {"/proc/sys/kernel", "/proc/sys/vm"}) {
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      const std::string name = entry.path().filename();
      const bool is_setting = std::none_of(std::begin(kNoSettings), std::end(kNoSettings),
                                           [&](const char* other) { return name == other; });
      if (is_setting && entry.is_regular_file(failed)) add(entry.path());
    }
  }
  for (const auto& cpu : fs::directory_iterator("/sys/devices/system/cpu", failed)) {
    add(cpu.path() / "online");
  }
  for (const auto& node : fs::directory_iterator("/sys/devices/system/node", failed)) {
    for (const auto& size : fs::directory_iterator(node.path() / "hugepages", failed)) {
      add(size.path() / "nr_hugepages");
    }
  }
  for (const char* folder : {"/sys/module", "/sys/class/net", "/sys/bus/pci/devices"}) {
    for (const auto& entry : fs::directory_iterator(folder, failed)) found[entry.path()] = "there";
  }
  return found;
}

/// How far the clock is from the time since the boot.
std::chrono::seconds clock_offset() {
  timespec real{};
  timespec boot{};
  (void)clock_gettime(CLOCK_REALTIME, &real);
  (void)clock_gettime(CLOCK_BOOTTIME, &boot);
  return std::chrono::seconds(real.tv_sec - boot.tv_sec);
}

/// Calls `step` until it says that there is nothing left to do, within the limit of a reset.
template <class Step>
void repeat(Clock::time_point deadline, Step step) {
  while (step() && Clock::now() < deadline) (void)usleep(kPauseUs);
}

void end_processes(Agent& agent, const Facts& before, Clock::time_point deadline) {
  repeat(deadline, [&] {
    bool any = false;
    for (const auto& [pid, facts] : processes()) {
      if (before.contains(pid)) continue;
      (void)kill(static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10)), SIGKILL);
      any = true;
    }
    reap(agent);
    return any;
  });
}

/// Processes in a frozen group do not end on version 1.
void thaw(const Agent& agent, const Facts& before) {
  for (const auto& [path, facts] : groups(agent)) {
    if (!before.contains(path) && path.ends_with("/freezer.state")) {
      (void)write_text(path, "THAWED", O_WRONLY);
    }
  }
}

void unmount(const Facts& before) {
  std::vector<std::pair<long, std::string>> added;
  for (const auto& [mount, facts] : mounts()) {
    if (before.contains(mount)) continue;
    char* point = nullptr;
    const long id = std::strtol(mount.c_str(), &point, 10);
    added.emplace_back(id, point + 1);
  }
  std::sort(added.rbegin(), added.rend());  // the last one first
  for (const auto& [id, point] : added) (void)umount2(point.c_str(), MNT_DETACH);
}

/// Deepest first. The kernel may take a moment until a group is empty.
void remove_groups(const Agent& agent, const Facts& before, Clock::time_point deadline) {
  repeat(deadline, [&] {
    const Facts now = groups(agent);
    bool any = false;
    for (auto it = now.rbegin(); it != now.rend(); ++it) {
      if (it->second != "a cgroup" || before.contains(it->first)) continue;
      any = rmdir(it->first.c_str()) != 0 || any;
    }
    return any;
  });
}

void remove_files(const Facts& before) {
  const Facts now = files();
  for (auto it = now.rbegin(); it != now.rend(); ++it) {
    if (!before.contains(it->first)) (void)std::remove(it->first.c_str());
  }
}

/// Writes values that differ. Those that cannot be written are a difference that remains.
void write_back(const Facts& before, const Facts& now) {
  for (const auto& [path, value] : before) {
    const auto found = now.find(path);
    if (found == now.end() || found->second == value) continue;
    if (path.ends_with("/cgroup.subtree_control")) {
      std::istringstream names(found->second);
      for (std::string name; names >> name;) {
        if ((" " + value + " ").find(" " + name + " ") == std::string::npos) {
          (void)write_text(path, "-" + name, O_WRONLY);
        }
      }
      std::istringstream wanted(value);
      for (std::string name; wanted >> name;) (void)write_text(path, "+" + name, O_WRONLY);
    } else {
      (void)write_text(path, value, O_WRONLY);
    }
  }
}

/// "" if they are the same.
std::string difference(const Facts& before, const Facts& now) {
  for (const auto& [name, value] : before) {
    const auto found = now.find(name);
    if (found == now.end()) return "'" + name + "' (" + value + ") is gone";
    if (found->second != value) {
      return "'" + name + "' was '" + value + "', now it is '" + found->second + "'";
    }
  }
  for (const auto& [name, value] : now) {
    if (!before.contains(name)) return "'" + name + "' (" + value + ") was not there";
  }
  return "";
}

}  // namespace

struct Baseline {
  Facts processes;
  Facts mounts;
  Facts groups;
  Facts files;
  Facts kernel;
  std::chrono::seconds clock{0};
};

Json remember(Agent& agent) {
  auto baseline = std::make_shared<Baseline>();
  baseline->processes = processes();
  baseline->mounts = mounts();
  baseline->groups = groups(agent);
  baseline->files = files();
  baseline->kernel = kernel();
  baseline->clock = clock_offset();
  agent.baseline = std::move(baseline);
  return {{"ok", true}};
}

Json reset(Agent& agent) {
  if (!agent.baseline) return refuse("the guest does not know what it was");
  if (agent.disk) return refuse("a disk is never reset");
  const Baseline& before = *agent.baseline;
  const Clock::time_point deadline = Clock::now() + kResetLimit;
  thaw(agent, before.groups);
  end_processes(agent, before.processes, deadline);
  agent.running.clear();
  agent.sampler = {};
  unmount(before.mounts);
  remove_groups(agent, before.groups, deadline);
  write_back(before.groups, groups(agent));
  write_back(before.kernel, kernel());
  remove_files(before.files);

  if (std::chrono::abs(clock_offset() - before.clock) > std::chrono::seconds(1)) {
    return refuse("the clock was set");
  }
  const std::pair<const Facts&, Facts> looks[] = {{before.processes, processes()},
                                                  {before.mounts, mounts()},
                                                  {before.groups, groups(agent)},
                                                  {before.files, files()},
                                                  {before.kernel, kernel()}};
  for (const auto& [was, is] : looks) {
    if (std::string found = difference(was, is); !found.empty()) return refuse(std::move(found));
  }
  return {{"ok", true}};
}

}  // namespace pinfold::guest
