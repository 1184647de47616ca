#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>
#include <utility>

#include "doctor_parts.hpp"
#include "observe_parts.hpp"
#include "pinfold/audit/group_names.hpp"
#include "pinfold/discover/kernel_files.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

using enforce::CgroupVersion;
using Role = ObservedCpuset::Role;

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxGroups = 20'000;

/// Reads the files of a group in either cgroup version.
class CpusetReader {
 public:
  CpusetReader(const Tree& tree, CgroupVersion version, Problems& problems)
      : tree_(tree), is_v2_(version == CgroupVersion::kV2), problems_(problems) {}

  [[nodiscard]] std::vector<std::string> children(const std::string& directory) const {
    auto names = tree_.list_directories(directory);
    if (names) return *std::move(names);
    if (!is_gone(names.error())) problems_.add("cgroup", names.error());
    return {};
  }

  /// Returns nullopt for an empty or missing file.
  [[nodiscard]] std::optional<CpuSet> set(const std::string& directory, const char* file) const {
    const auto list = text(directory, file);
    if (list.empty()) return std::nullopt;
    auto set = parse_cpu_list(list);
    if (set) return *std::move(set);
    problems_.add(
        file, std::move(set).error().wrap(fmt::format("'{}/{}'", tree_.shown(directory), file)));
    return std::nullopt;
  }

  [[nodiscard]] std::string partition(const std::string& directory) const {
    if (!is_v2_) return text(directory, "cpuset.cpu_exclusive") == "1" ? "exclusive" : "";
    const std::string kind = text(directory, "cpuset.cpus.partition");
    return kind == "root" || kind == "isolated" ? kind : "";  // "root invalid (...)" holds nothing
  }

  [[nodiscard]] CpuSet held(const std::string& directory) const {
    for (const char* const file : {"cpuset.cpus.exclusive.effective", "cpuset.cpus.effective",
                                   "cpuset.effective_cpus", "cpuset.cpus"}) {
      if (auto cpus = set(directory, file)) return *std::move(cpus);
    }
    return {};
  }

 private:
  [[nodiscard]] std::string text(const std::string& directory, const char* file) const {
    auto text = tree_.read(fmt::format("{}/{}", directory, file));
    if (text) return *std::move(text);
    if (!is_gone(text.error())) problems_.add(file, text.error());
    return "";
  }

  const Tree& tree_;
  bool is_v2_;
  Problems& problems_;
};

bool is_inside(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

/// Adds the directories on the way from below the mount down to `directory`.
void add_way(const std::string& mount, const std::string& directory, std::set<std::string>& ways) {
  if (!is_inside(directory, mount)) return;
  for (std::size_t end = directory.find('/', mount.size() + 1); end != std::string::npos;
       end = directory.find('/', end + 1)) {
    ways.insert(directory.substr(0, end));
  }
}

struct CpusetSearch {
  std::vector<ObservedCpuset> groups = {};  ///< breadth-first: parents first
  std::set<std::string> above_pods = {};
};

/// Finds all groups except those of pods and Pinfold's own.
CpusetSearch search(const CpusetReader& reader, const std::string& mount,
                    const std::string& own_root, Problems& problems) {
  CpusetSearch found;
  add_way(mount, own_root, found.above_pods);
  std::deque<std::pair<std::string, int>> open = {{mount, 0}};
  std::size_t searched = 0;
  while (!open.empty()) {
    const auto [directory, depth] = open.front();
    open.pop_front();
    const std::string parent = directory.substr(directory.rfind('/') + 1);
    for (const std::string& name : reader.children(directory)) {
      std::string child = fmt::format("{}/{}", directory, name);
      if (child == own_root) {  // what is below belongs to Pinfold
        found.above_pods.insert(child);
        found.groups.push_back({.directory = child});
        continue;
      }
      const auto pod = parse_group(child.substr(mount.size() + 1));
      if (pod) continue;
      if (++searched > kMaxGroups) {
        problems.add("cgroup", {ErrorCode::kInvalidArgument, 0,
                                fmt::format("only the first {} groups of '{}' were searched",
                                            kMaxGroups, mount)});
        return found;
      }
      if (driver_of_root(name)) {
        add_way(mount, child, found.above_pods);
        found.above_pods.insert(child);
      }
      ObservedCpuset group{.directory = child};
      const bool is_class =
          driver_of_root(parent) &&
          (name == "burstable" || name == "besteffort" || name.ends_with("-burstable.slice") ||
           name.ends_with("-besteffort.slice"));
      if (is_class) group.role = Role::kOfClass;
      found.groups.push_back(std::move(group));
      if (depth + 1 < kMaxDepth) open.emplace_back(std::move(child), depth + 1);
    }
  }
  return found;
}

/// Returns the path of a systemd slice; "": unknown without asking systemd.
std::string path_of_slice(std::string_view unit) {
  constexpr std::string_view kSlice = ".slice";
  if (!unit.ends_with(kSlice) || unit == "-.slice") return "";
  const std::string_view name = unit.substr(0, unit.size() - kSlice.size());
  std::string path;
  for (std::size_t dash = name.find('-'); dash != std::string_view::npos;
       dash = name.find('-', dash + 1)) {
    path += fmt::format("/{}.slice", name.substr(0, dash));
  }
  return fmt::format("{}/{}", path, unit);
}

/// Returns true if a unit file sets the set, which another check reports.
bool is_set_by_unit(const ObservedSystem& system, const std::string& directory,
                    std::string_view what) {
  const std::string name = directory.substr(directory.rfind('/') + 1);
  return std::any_of(system.systemd.settings.begin(), system.systemd.settings.end(),
                     [&](const SystemdSetting& setting) {
                       return setting.unit == name && setting.key.ends_with(what);
                     });
}

/// Returns the command that gives a group of cgroup v2 the set of its parent. Linux (seen with 6.1
/// and 6.12, not with 7.2) refuses it to a group with processes in or below it, which gets
/// everything instead. `path`: quoted; `file`: cpuset.cpus or cpuset.mems.
std::string clear_set(const std::string& path, std::string_view file) {
  return fmt::format("echo > {0} 2>/dev/null || cat /sys/devices/system/{1}/possible > {0}", path,
                     file.ends_with("cpus") ? "cpu" : "node");
}

void check_set(const ObservedSystem& system, const ObservedCpuset& group, const char* file,
               const CpuSet& set, const CpuSet& all, bool lacks_exclusive, Checks& checks) {
  const bool is_v2 = system.cpusets.version == CgroupVersion::kV2;
  const bool is_class = group.role == Role::kOfClass;
  checks.push_back({"live-cpusets",
                    lacks_exclusive && !is_class ? CheckStatus::kProblem : CheckStatus::kWarning,
                    fmt::format("{}/{} is {}, but no unit file sets this", group.directory, file,
                                set.to_string()),
                    fmt::format("{}: containers below it cannot have more{}", all.to_string(),
                                is_class ? "; those of this QoS class share what is left" : ""),
                    is_v2 ? clear_set(fmt::format("'{}/{}'", group.directory, file), file)
                          : fmt::format("cat '{}/{}' > '{}/{}'", system.cpusets.mount, file,
                                        group.directory, file)});
}

void check_narrowed(const ObservedSystem& system, Checks& checks) {
  const ObservedCpusets& cpusets = system.cpusets;
  const CpuSet candidates = exclusive_candidates(system);
  const std::size_t before = checks.size();
  for (const ObservedCpuset& group : cpusets.groups) {
    if (group.role == Role::kOther) continue;
    if (group.cpus && !group.cpus->contains_all(cpusets.all_cpus) &&
        !is_set_by_unit(system, group.directory, "AllowedCPUs")) {
      check_set(system, group, "cpuset.cpus", *group.cpus, cpusets.all_cpus,
                !group.cpus->contains_all(candidates), checks);
    }
    if (group.mems && !group.mems->contains_all(cpusets.all_mems) &&
        !is_set_by_unit(system, group.directory, "AllowedMemoryNodes")) {
      check_set(system, group, "cpuset.mems", *group.mems, cpusets.all_mems, true, checks);
    }
  }
  if (checks.size() > before) return;
  checks.push_back({"live-cpusets", CheckStatus::kOk,
                    "the parent groups of containers have all CPUs and NUMA nodes"});
}

void check_partitions(const ObservedSystem& system, Checks& checks) {
  const ObservedCpusets& cpusets = system.cpusets;
  const CpuSet candidates = exclusive_candidates(system);
  const std::size_t before = checks.size();
  for (const ObservedCpuset& group : cpusets.groups) {
    const CpuSet lost = group.held & candidates;
    if (group.role == Role::kAbovePods || group.partition.empty() || lost.empty()) continue;
    checks.push_back(
        {"partitions", CheckStatus::kProblem,
         fmt::format("'{}' is a partition ('{}') with {}: no container can have {}",
                     group.directory, group.partition, cpus_named(group.held), cpus_named(lost)),
         fmt::format("{} reserved, or no partition of another program there", cpus_named(lost)),
         cpusets.version == CgroupVersion::kV2
             ? fmt::format("echo member > '{}/cpuset.cpus.partition'", group.directory)
             : fmt::format("echo 0 > '{}/cpuset.cpu_exclusive'", group.directory)});
  }
  if (checks.size() > before) return;
  checks.push_back({"partitions", CheckStatus::kOk,
                    "no other program has a partition with CPUs for containers"});
}

}  // namespace

ObservedCpusets observe_cpusets(const Tree& tree, const ObservedCgroupSetup& setup,
                                Problems& problems) {
  ObservedCpusets cpusets;
  if (setup.directories.empty()) return cpusets;
  const auto hierarchy =
      std::find_if(setup.hierarchies.begin(), setup.hierarchies.end(), [](const auto& one) {
        return std::find(one.controllers.begin(), one.controllers.end(),
                         enforce::Controller::kCpuset) != one.controllers.end();
      });
  if (hierarchy == setup.hierarchies.end()) return cpusets;
  cpusets.is_searched = true;
  cpusets.version = hierarchy->version;
  cpusets.mount = setup.directories.front().path;
  const CpusetReader reader(tree, cpusets.version, problems);
  const bool is_v2 = cpusets.version == CgroupVersion::kV2;
  cpusets.all_cpus =
      reader.set(cpusets.mount, is_v2 ? "cpuset.cpus.effective" : "cpuset.cpus").value_or(CpuSet{});
  cpusets.all_mems =
      reader.set(cpusets.mount, is_v2 ? "cpuset.mems.effective" : "cpuset.mems").value_or(CpuSet{});
  CpusetSearch found = search(reader, cpusets.mount, setup.root, problems);
  for (ObservedCpuset& group : found.groups) {
    if (found.above_pods.contains(group.directory)) group.role = Role::kAbovePods;
    group.partition = reader.partition(group.directory);
    if (!group.partition.empty()) group.held = reader.held(group.directory);
    if (group.role != Role::kOther) {
      group.cpus = reader.set(group.directory, "cpuset.cpus");
      group.mems = reader.set(group.directory, "cpuset.mems");
    }
    if (group.role != Role::kOther || !group.partition.empty()) {
      cpusets.groups.push_back(std::move(group));
    }
  }
  return cpusets;
}

std::string widen_unit(const std::string& unit, const char* file) {
  if (unit == "-.slice" ||
      !(unit.ends_with(".slice") || unit.ends_with(".service") || unit.ends_with(".scope"))) {
    return "";
  }
  const std::string path = path_of_slice(unit);
  if (!path.empty()) return clear_set(fmt::format("'/sys/fs/cgroup{}/{}'", path, file), file);
  return clear_set(
      fmt::format("\"/sys/fs/cgroup$(systemctl show -p ControlGroup --value '{}')/{}\"", unit,
                  file),
      file);
}

void check_live_cpusets(const ObservedSystem& system, Checks& checks) {
  if (!system.cpusets.is_searched) {  // cgroup-mode explains it
    const bool is_known = system.cgroups.mounts_error.empty();
    for (const char* const name : {"live-cpusets", "partitions"}) {
      checks.push_back({name, CheckStatus::kUnknown,
                        "not checked: no hierarchy with cpusets was found",
                        is_known ? "a mounted hierarchy with cpusets"
                                 : "the mounts of control groups in /proc/1/mountinfo"});
    }
    return;
  }
  check_narrowed(system, checks);
  check_partitions(system, checks);
}

}  // namespace pinfold::audit
