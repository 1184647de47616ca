#include <fmt/format.h>

#include <array>
#include <deque>
#include <utility>

#include "observe_parts.hpp"
#include "pinfold/discover/kernel_files.hpp"

namespace pinfold::audit {
namespace {

using enforce::CgroupVersion;

/// How deep below the mount kubelets' roots are searched, and in how many groups.
constexpr int kMaxRootDepth = 5;
constexpr std::size_t kMaxSearched = 20'000;
/// How deep below a container's group processes are searched.
constexpr int kMaxGroupDepth = 16;

std::string below(const std::string& path, const std::string& name) {
  return path.empty() ? name : fmt::format("{}/{}", path, name);
}

class ObservedGroupReader {
 public:
  ObservedGroupReader(const Tree& tree, const CgroupMounts& hierarchy, Problems& problems)
      : tree_(tree), hierarchy_(hierarchy), problems_(problems) {}

  /// Finds the roots of kubelets, breadth-first: none is inside another.
  [[nodiscard]] std::vector<std::string> find_roots() const {
    std::vector<std::string> roots;
    std::deque<std::pair<std::string, int>> open = {{"", 0}};
    for (std::size_t searched = 0; !open.empty() && searched < kMaxSearched; ++searched) {
      const auto [path, depth] = open.front();
      open.pop_front();
      for (const std::string& name : children(path)) {
        if (driver_of_root(name)) {
          roots.push_back(below(path, name));
        } else if (depth + 1 < kMaxRootDepth) {
          open.emplace_back(below(path, name), depth + 1);
        }
      }
    }
    return roots;
  }

  /// Adds the groups of pods and those directly below them.
  void add_pods(const std::string& path, int depth, std::vector<ObservedGroup>& groups) const {
    constexpr int kPodLevel = 3;  // root, class, pod
    for (const std::string& name : children(path)) {
      const std::string child = below(path, name);
      const auto pod = parse_group(child);
      if (pod && pod->role == GroupRole::kPod) {
        groups.push_back(read(child, *pod));
        add_containers(child, groups);
      } else if (depth < kPodLevel) {
        add_pods(child, depth + 1, groups);
      }
    }
  }

  /// Reads a limit; none without the hierarchy.
  [[nodiscard]] ObservedLimit limit(const std::string& path) const {
    ObservedLimit limit;
    if (hierarchy_.cpu.empty()) return limit;
    const std::string directory = fmt::format("{}/{}", hierarchy_.cpu, path);
    limit.quota = hierarchy_.version == CgroupVersion::kV2
                      ? parse_cpu_max(file(directory, "cpu.max").value_or(""))
                      : parse_cfs(file(directory, "cpu.cfs_quota_us").value_or(""),
                                  file(directory, "cpu.cfs_period_us").value_or(""));
    if (limit.quota.quota_us) {
      limit.throttled = parse_throttled(file(directory, "cpu.stat").value_or(""));
    }
    return limit;
  }

 private:
  [[nodiscard]] std::vector<std::string> children(const std::string& path) const {
    auto names = tree_.list_directories(fmt::format("{}/{}", hierarchy_.cpusets, path));
    if (names) return *std::move(names);
    if (!is_gone(names.error())) problems_.add("cgroup", names.error());
    return {};
  }

  void add_containers(const std::string& pod, std::vector<ObservedGroup>& groups) const {
    for (const std::string& name : children(pod)) {
      const std::string child = below(pod, name);
      const auto group = parse_group(child);
      if (group && group->role != GroupRole::kPod) groups.push_back(read(child, *group));
    }
  }

  [[nodiscard]] std::optional<std::string> file(const std::string& directory,
                                                const std::string& name) const {
    auto text = tree_.read(fmt::format("{}/{}", directory, name));
    if (text) return *std::move(text);
    // EOPNOTSUPP: a threaded group, whose parent lists its processes.
    if (!is_gone(text.error()) && text.error().sys_errno != EOPNOTSUPP) {
      problems_.add(name, text.error());
    }
    return std::nullopt;
  }

  /// Returns the first of these files that exists and is not empty.
  [[nodiscard]] std::optional<CpuSet> set(const std::string& directory,
                                          std::initializer_list<const char*> names) const {
    for (const char* const name : names) {
      const auto text = file(directory, name);
      if (!text || text->empty()) continue;
      auto set = parse_cpu_list(*text);
      if (set) return *std::move(set);
      problems_.add(
          name, std::move(set).error().wrap(fmt::format("'{}/{}'", tree_.shown(directory), name)));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<pid_t> processes(const std::string& path, int depth) const {
    std::vector<pid_t> pids = parse_pids(
        file(fmt::format("{}/{}", hierarchy_.cpusets, path), "cgroup.procs").value_or(""));
    if (depth == kMaxGroupDepth) return pids;
    for (const std::string& name : children(path)) {
      const auto more = processes(below(path, name), depth + 1);
      pids.insert(pids.end(), more.begin(), more.end());
    }
    return pids;
  }

  [[nodiscard]] ObservedGroup read(const std::string& path, const KubeletGroup& name) const {
    ObservedGroup group{path, fmt::format("{}/{}", hierarchy_.cpusets, path), name};
    // The effective sets count: v2 has a separate file for them, v1 one or the other.
    const auto cpus =
        set(group.directory, {"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"});
    const auto mems =
        set(group.directory, {"cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"});
    group.has_sets = cpus.has_value() && mems.has_value();
    group.cpus = cpus.value_or(CpuSet{});
    group.mems = mems.value_or(CpuSet{});
    group.limit = limit(path);
    const bool is_pod = name.role == GroupRole::kPod;
    group.processes = processes(path, is_pod ? kMaxGroupDepth : 0);
    return group;
  }

  const Tree& tree_;
  const CgroupMounts& hierarchy_;
  Problems& problems_;
};

/// Recognizes a sandbox that no file names by its program "pause".
std::optional<ContainerName> sandbox_by_program(const Tree& tree, const ObservedGroup& group) {
  if (group.processes.empty()) return std::nullopt;
  std::string path = fmt::format("/proc/{}/comm", group.processes.front());
  if (tree.read(path).value_or("") != "pause") return std::nullopt;
  return ContainerName{.is_sandbox = true, .source = std::move(path)};
}

/// Returns the groups above a group, nearest first.
std::vector<std::string> above(std::string path) {
  std::vector<std::string> paths;
  while (path.find('/') != std::string::npos) {
    path.erase(path.rfind('/'));
    paths.push_back(path);
  }
  return paths;
}

void add_limits(const ObservedGroupReader& reader, ObservedGroups& cgroups) {
  std::map<std::string, ObservedLimit> seen;
  for (const ObservedGroup& group : cgroups.groups) {
    if (group.name.role != GroupRole::kPod) continue;
    for (const std::string& path : above(group.path)) {
      if (!seen.contains(path)) seen[path] = reader.limit(path);
    }
  }
  std::erase_if(seen, [](const auto& one) { return !one.second.quota.quota_us; });
  cgroups.limits = std::move(seen);
}

}  // namespace

std::optional<CgroupMounts> find_hierarchy(const Tree& tree) {
  const std::string base = "/sys/fs/cgroup";
  if (tree.has(base + "/cgroup.controllers")) return CgroupMounts{CgroupVersion::kV2, base, base};
  if (!tree.has(base + "/cpuset")) return std::nullopt;
  CgroupMounts hierarchy{CgroupVersion::kV1, base + "/cpuset", ""};
  for (const char* const name : {"/cpu,cpuacct", "/cpu", "/cpuacct,cpu"}) {
    if (hierarchy.cpu.empty() && tree.has(base + name)) hierarchy.cpu = base + name;
  }
  return hierarchy;
}

ObservedGroups observe_groups(const Tree& tree, Problems& problems) {
  ObservedGroups cgroups;
  const auto hierarchy = find_hierarchy(tree);
  if (!hierarchy) return cgroups;
  cgroups.version = hierarchy->version;
  cgroups.mount = hierarchy->cpusets;
  cgroups.cpu_mount = hierarchy->cpu;
  const ObservedGroupReader reader(tree, *hierarchy, problems);
  cgroups.roots = reader.find_roots();
  for (const std::string& root : cgroups.roots) reader.add_pods(root, 0, cgroups.groups);
  add_limits(reader, cgroups);
  return cgroups;
}

void name_containers(const Tree& tree, ObservedGroups& cgroups, Problems& problems) {
  const ContainerNames names(tree, problems);
  for (ObservedGroup& group : cgroups.groups) {
    if (group.name.role != GroupRole::kContainer) continue;
    group.container = names.find(group.name.container);
    group.init = names.init_of(group.name.container);
    if (!group.container) group.container = sandbox_by_program(tree, group);
  }
}

}  // namespace pinfold::audit
