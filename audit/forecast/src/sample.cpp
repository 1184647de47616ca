#include "pinfold/forecast/sample.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <utility>

#include "pinfold/audit/proc_files.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/discover/kernel_files.hpp"
#include "pinfold/forecast/memory_files.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold::forecast {
namespace {

using enforce::NodeSet;

/// How deep groups are searched, and how many: a machine with more is sampled in part.
constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxGroups = 20'000;

/// Where a controller's hierarchy is mounted.
struct ControllerMount {
  std::string directory;  ///< on the node
  bool is_v2 = true;
};

/// Looks at the usual places: version 2 alone, version 2 next to version 1, version 1.
std::optional<ControllerMount> mount_of(const std::string& root, std::string_view controller) {
  const std::string base = "/sys/fs/cgroup";
  for (const std::string& directory : {base, base + "/unified"}) {
    const auto controllers = read_file(root + directory + "/cgroup.controllers");
    if (controllers && audit::has_word(trimmed(*controllers), ' ', controller)) {
      return ControllerMount{directory};
    }
  }
  std::string directory = fmt::format("{}/{}", base, controller);
  std::error_code ignored;
  if (!std::filesystem::is_directory(root + directory, ignored)) return std::nullopt;
  return ControllerMount{std::move(directory), false};
}

/// Visits the groups of a hierarchy from the top down.
class GroupWalk {
 public:
  GroupWalk(const std::string& root, const ControllerMount& memory,
            const std::optional<ControllerMount>& cpusets, const GroupNames& names)
      : memory_(root + memory.directory),
        cpusets_(cpusets ? root + cpusets->directory : ""),
        is_v2_(memory.is_v2),
        page_size_(static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_PAGESIZE)))) {
    const std::string prefix = cpusets ? cpusets->directory + "/" : "";
    for (const auto& [directory, container] : names) {
      if (directory.starts_with(prefix)) {
        names_.emplace(directory.substr(prefix.size() - 1), container);
      }
    }
  }

  void visit(const std::string& path, const NodeSet& above, int depth) {
    if (++visited_ > kMaxGroups) return;
    GroupMemory group{path, label_of(path), mems_of(path).value_or(above)};
    const auto below = is_container(path) ? std::vector<std::string>() : children(path);
    group.is_inner = !below.empty() && depth < kMaxDepth;
    group.limit =
        parse_memory_limit(text_of(path, is_v2_ ? "memory.max" : "memory.limit_in_bytes"));
    if (group.is_inner) {
      for (const std::string& name : below) {
        visit(fmt::format("{}/{}", path, name), group.mems, depth + 1);
      }
    }
    if (!group.is_inner || group.limit) add(std::move(group));
  }

  [[nodiscard]] std::vector<GroupMemory> take() { return std::move(groups_); }

 private:
  [[nodiscard]] std::string text_of(const std::string& path, const char* file) const {
    return read_file(fmt::format("{}{}/{}", memory_, path, file)).value_or("");
  }
  [[nodiscard]] bool is_container(const std::string& path) const {
    const auto found = names_.find(path);
    return found != names_.end() && !found->second.container.empty();
  }
  [[nodiscard]] std::string label_of(const std::string& path) const {
    const auto found = names_.find(path);
    if (found == names_.end()) return path.empty() ? "/" : path;
    const ContainerRef& container = found->second;
    return container.container.empty() ? to_string(container.pod) : to_string(container);
  }
  [[nodiscard]] std::optional<NodeSet> mems_of(const std::string& path) const {
    for (const char* const name :
         {"cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"}) {
      const auto text = read_file(fmt::format("{}{}/{}", cpusets_, path, name));
      const auto list = text ? parse_cpu_list(trimmed(*text)) : Result<CpuSet>(NodeSet());
      if (list && !list->empty()) return *list;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<std::string> children(const std::string& path) const {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator entry(memory_ + path, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      std::error_code ended;
      if (entry->is_directory(ended)) names.push_back(entry->path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void add(GroupMemory group) {
    group.in_use = parse_numa_stat(text_of(group.directory, "memory.numa_stat"), page_size_);
    const bool is_used = std::any_of(group.in_use.begin(), group.in_use.end(),
                                     [](const auto& node) { return node.second > 0; });
    if (!is_used) return;
    group.stalled = parse_stalled(text_of(group.directory, "memory.pressure"));
    groups_.push_back(std::move(group));
  }

  std::string memory_;
  std::string cpusets_;
  bool is_v2_;
  std::uint64_t page_size_;
  GroupNames names_;  ///< by the path below the mount
  std::vector<GroupMemory> groups_;
  std::size_t visited_ = 0;
};

std::uint64_t available_in(const NumaMeminfo& info, std::uint64_t kept_free) {
  const std::uint64_t all = info.free + info.file + info.reclaimable;
  return all - std::min(all, kept_free);
}

}  // namespace

Result<MemorySample> read_numa_memory(const std::string& root, std::chrono::nanoseconds at) {
  const std::string nodes = root + "/sys/devices/system/node";
  PINFOLD_LET(const auto text, read_file(nodes + "/online"));
  PINFOLD_LET_WRAP(const auto online, parse_cpu_list(trimmed(text)), nodes + "/online");
  std::map<NumaId, NumaMeminfo> all;
  std::uint64_t total = 0;
  for (const CpuId node : online) {
    const auto meminfo = read_file(fmt::format("{}/node{}/meminfo", nodes, node.value));
    const auto info = meminfo ? parse_numa_meminfo(*meminfo) : std::nullopt;
    if (!info || info->total == 0) continue;
    all.emplace(NumaId{node.value}, *info);
    total += info->total;
  }
  const double kept_free = static_cast<double>(
      parse_min_free(read_file(root + "/proc/sys/vm/min_free_kbytes").value_or("")));
  MemorySample sample{at};
  for (const auto& [numa, info] : all) {
    const double share = static_cast<double>(info.total) / static_cast<double>(total);
    const auto kept = static_cast<std::uint64_t>(kept_free * share);
    sample.numa.push_back({numa, info.total, available_in(info, kept)});
  }
  return sample;
}

std::vector<GroupMemory> read_groups(const std::string& root, const GroupNames& names) {
  const auto memory = mount_of(root, "memory");
  if (!memory) return {};
  GroupWalk walk(root, *memory, mount_of(root, "cpuset"), names);
  walk.visit("", {}, 0);
  return walk.take();
}

}  // namespace pinfold::forecast
