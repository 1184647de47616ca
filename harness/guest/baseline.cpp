#include "baseline.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <sstream>

namespace pinfold::guest {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKernelThread = 0x00200000;  ///< PF_KTHREAD of the kernel's sched.h

/// Files that hold a cgroup's configuration, not its activity, in versions 1 and 2.
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
/// Files that the kernel changes by itself, or that change when they are read.
constexpr const char* kNoSettings[] = {"drop_caches", "ns_last_pid", "perf_event_max_sample_rate",
                                       "stat_refresh"};

/// Returns the fields of /proc/PID/stat after the program's name; empty if the process has ended.
std::vector<std::string> stat_of(const std::string& pid) {
  int failed = 0;
  const std::string line = read_text("/proc/" + pid + "/stat", failed);
  const std::size_t end = line.rfind(')');
  std::vector<std::string> fields;
  if (end == std::string::npos) return fields;
  std::istringstream rest(line.substr(end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
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

/// Adds the content of a file to the facts, under its path.
void add(Facts& facts, const std::string& path) {
  int failed = 0;
  std::string text = read_text(path, failed);
  if (failed == 0) facts[path] = std::move(text);
}

/// Adds the settings of sysctl; files that cannot be written are counters.
void add_sysctl(Facts& facts) {
  std::error_code failed;
  for (const char* folder : {"fs", "kernel", "net/core", "net/ipv4", "vm"}) {
    for (const auto& entry : fs::directory_iterator(std::string("/proc/sys/") + folder, failed)) {
      const std::string name = entry.path().filename();
      const bool is_setting = std::none_of(std::begin(kNoSettings), std::end(kNoSettings),
                                           [&](const char* other) { return name == other; });
      const auto mode = entry.status(failed).permissions();
      const bool is_writable = (mode & fs::perms::owner_write) != fs::perms::none;
      if (is_setting && is_writable && entry.is_regular_file(failed)) add(facts, entry.path());
    }
  }
}

}  // namespace

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

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
    const std::string status = read_text("/proc/" + pid + "/status", unread);
    found[pid] = joined({status_field("\n" + status, "Name"), " since ", fields[kStart], "; ",
                         groups, "; CPUs ", status_field(status, "Cpus_allowed_list"), "; nodes ",
                         status_field(status, "Mems_allowed_list")});
  }
  return found;
}

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
    found[joined({id, " ", point})] = line;
  }
  return found;
}

Facts groups(const Agent& agent) {
  Facts found;
  std::error_code failed;
  for (const std::string& home : agent.hierarchies) {
    for (const std::string& folder : groups_from(home, failed)) {
      found[folder] = kIsGroup;
      for (const char* name : kSettings) add(found, folder + "/" + name);
    }
  }
  return found;
}

Facts files() {
  Facts found;
  // Throws if a directory cannot be read: an incomplete list would hide leftovers.
  for (fs::recursive_directory_iterator it("/"), end; it != end; ++it) {
    const std::string path = it->path();
    if (path == "/proc" || path == "/sys") {
      it.disable_recursion_pending();
      continue;
    }
    found[path] = facts_of(path);
  }
  return found;
}

Facts kernel() {
  Facts found;
  std::error_code failed;
  const auto entries = [&failed](const std::string& folder) {
    return fs::directory_iterator(folder, failed);
  };
  add_sysctl(found);
  for (const auto& cpu : entries("/sys/devices/system/cpu")) add(found, cpu.path() / "online");
  for (const auto& node : entries("/sys/devices/system/node")) {
    for (const auto& size : entries(node.path() / "hugepages")) {
      add(found, size.path() / "nr_hugepages");
    }
  }
  for (const auto& device : entries("/sys/class/net")) add(found, device.path() / "flags");
  for (const char* folder :
       {"/sys/block", "/sys/bus/pci/devices", "/sys/class/net", "/sys/module"}) {
    for (const auto& entry : entries(folder)) found[entry.path()] = "there";
  }
  for (const char* file : {"/proc/swaps", "/proc/sysvipc/msg", "/proc/sysvipc/sem",
                           "/proc/sysvipc/shm", "/sys/kernel/mm/transparent_hugepage/defrag",
                           "/sys/kernel/mm/transparent_hugepage/enabled"}) {
    add(found, file);
  }
  return found;
}

std::chrono::seconds clock_offset() {
  timespec real{};
  timespec boot{};
  (void)clock_gettime(CLOCK_REALTIME, &real);
  (void)clock_gettime(CLOCK_BOOTTIME, &boot);
  return std::chrono::seconds(real.tv_sec - boot.tv_sec);
}

}  // namespace pinfold::guest
