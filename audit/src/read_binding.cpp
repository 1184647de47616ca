#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "observe_parts.hpp"
#include "pinfold/audit/memory_binding.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/discover/kernel_files.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::audit {
namespace {

using enforce::NodeSet;

constexpr const char* kNumaNodes = "/sys/devices/system/node";

/// Reads a list; nullopt if there is no such file. Errors: kIo.
Result<std::optional<NodeSet>> list_at(const Tree& tree, const std::string& path) {
  const auto text = tree.read(path);
  if (!text && is_gone(text.error())) return std::nullopt;
  if (!text) return fail(text.error());
  PINFOLD_LET_WRAP(auto list, parse_cpu_list(*text), fmt::format("'{}'", tree.shown(path)));
  return std::optional(std::move(list));
}

/// Returns the online NUMA nodes whose meminfo shows memory, for kernels without has_memory.
NodeSet with_memory(const Tree& tree, const NodeSet& online) {
  NodeSet nodes;
  for (const CpuId node : online) {
    const auto text = tree.read(fmt::format("{}/node{}/meminfo", kNumaNodes, node.value));
    const auto total = text ? parse_mem_total(*text) : Result<std::uint64_t>(0);
    if (total && *total > 0) nodes.insert(node);
  }
  return nodes;
}

Result<NumaLists> read_numa_lists(const Tree& tree) {
  const std::string prefix = std::string(kNumaNodes) + "/";
  PINFOLD_LET(auto online, list_at(tree, prefix + "online"));
  // A kernel without NUMA has one NUMA node, and no directory for it.
  if (!online) return NumaLists{{0}, {0}, {0}};
  PINFOLD_LET(auto possible, list_at(tree, prefix + "possible"));
  PINFOLD_LET(auto memory, list_at(tree, prefix + "has_memory"));
  NumaLists lists{possible.value_or(*online), *online, {}};
  lists.with_memory = memory ? *std::move(memory) : with_memory(tree, *online);
  return lists;
}

/// Returns the first of these lists that exists.
Result<std::optional<NodeSet>> first_list(const Tree& tree, const std::string& directory,
                                          std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    PINFOLD_LET(auto list, list_at(tree, fmt::format("{}/{}", directory, name)));
    if (list) return list;
  }
  return std::nullopt;
}

Result<std::vector<GroupMems>> read_groups(const Tree& tree, const std::string& mount,
                                           const std::string& path) {
  std::vector<GroupMems> groups;
  for (std::size_t end = 0;; end = path.find('/', end + 1)) {
    const std::string directory = mount + path.substr(0, end);
    PINFOLD_LET(auto configured, list_at(tree, directory + "/cpuset.mems"));
    PINFOLD_LET(auto effective,
                first_list(tree, directory,
                           {"cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"}));
    if (effective) groups.push_back({directory, configured.value_or(NodeSet()), *effective});
    if (end >= path.size()) return groups;
  }
}

tl::unexpected<Error> no_process(pid_t process) {
  return fail(ErrorCode::kNotFound,
              fmt::format("process {}: expected the id of a running process", process));
}

Result<CgroupMounts> mounts_of(const Tree& tree) {
  auto mounts = find_hierarchy(tree);
  if (mounts) return *std::move(mounts);
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' has no cpusets: expected a mount of cgroup v2, or of the cpusets "
                          "of v1",
                          tree.shown("/sys/fs/cgroup")));
}

/// Returns true without CAP_SYS_NICE in the effective capabilities.
bool lacks_sys_nice(std::string_view status) {
  constexpr unsigned kSysNice = 23;
  constexpr int kHexadecimal = 16;
  const std::string_view text = status_value(status, "CapEff");
  std::uint64_t capabilities = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), capabilities, kHexadecimal);
  return error == std::errc() && (capabilities >> kSysNice & 1U) == 0;
}

Result<void> add_process(const Tree& tree, pid_t process, BindingFacts& facts) {
  const auto status = tree.read(fmt::format("/proc/{}/status", process));
  if (!status && is_gone(status.error())) return no_process(process);
  if (!status) return fail(status.error());
  const auto allowed = parse_cpu_list(status_value(*status, "Mems_allowed_list"));
  if (allowed && !allowed->empty()) facts.allowed = *allowed;
  facts.is_filtered = status_value(*status, "Seccomp") == "2" && lacks_sys_nice(*status);
  return {};
}

}  // namespace

Result<BindingFacts> read_binding(const Tree& tree, const std::string& directory,
                                  std::optional<pid_t> process) {
  PINFOLD_LET(const auto mounts, mounts_of(tree));
  const std::string& mount = mounts.cpusets;
  std::string path = directory == mount || directory.starts_with(mount + "/")
                         ? directory.substr(mount.size())
                         : directory;
  while (path.ends_with('/')) path.pop_back();
  if (!tree.has(fmt::format("{}{}/cgroup.procs", mount, path)) && !path.empty()) {
    return fail(ErrorCode::kNotFound, fmt::format("cgroup '{}': expected a directory below '{}'",
                                                  directory, tree.shown(mount)));
  }
  BindingFacts facts{mount + path};
  PINFOLD_LET(facts.numa, read_numa_lists(tree));
  PINFOLD_LET(facts.groups, read_groups(tree, mount, path));
  if (process) PINFOLD_TRY(add_process(tree, *process, facts));
  return facts;
}

Result<std::string> cpuset_directory(const Tree& tree, pid_t process) {
  PINFOLD_LET(const auto mounts, mounts_of(tree));
  const auto text = tree.read(fmt::format("/proc/{}/cgroup", process));
  if (!text && is_gone(text.error())) return no_process(process);
  if (!text) return fail(text.error());
  const std::string path = enforce::cpuset_path(*text, mounts.version);
  if (!path.starts_with('/') || path.starts_with("/..")) {
    return fail(ErrorCode::kNotFound,
                fmt::format("process {}: its cgroup '{}' is not visible from this cgroup "
                            "namespace: run the command on the host",
                            process, path));
  }
  return mounts.cpusets + (path == "/" ? "" : path);
}

}  // namespace pinfold::audit
