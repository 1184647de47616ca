#include "sys_tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernel_tree.hpp"
#include "number_caches.hpp"

namespace pinfold {
namespace {

constexpr const char* kCpuDirectory = "sys/devices/system/cpu";
constexpr const char* kNodeDirectory = "sys/devices/system/node";
constexpr const char* kMemInfo = "proc/meminfo";

tl::unexpected<Error> bad_tree(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// Reads a list of online ids; nullopt if the file is missing or empty, which means that all are
/// online.
Result<std::optional<CpuSet>> read_online(const KernelTree& tree, const char* directory) {
  PINFOLD_LET(auto online, tree.read(fmt::format("{}/online", directory), parse_cpu_list));
  if (online && online->empty()) online.reset();
  return online;
}

/// Returns whether one CPU is online. Kernels before 2.6.26 have no list, and no file for CPUs that
/// cannot go offline.
Result<bool> is_online(const KernelTree& tree, const std::string& cpu_directory) {
  const std::string path = cpu_directory + "/online";
  PINFOLD_LET(const auto text, tree.read(path));
  if (!text || text->empty()) return true;
  PINFOLD_LET_WRAP(const auto flag, parse_id(*text), tree.shown(path));
  return flag != 0;
}

/// Reads the usable CPUs (online, with topology files) and their sockets. `online`: of
/// read_online().
Result<std::map<CpuId, SocketId>> read_sockets(const KernelTree& tree,
                                               const std::optional<CpuSet>& online) {
  PINFOLD_LET(auto ids, tree.numbered(kCpuDirectory, "cpu"));
  std::map<CpuId, SocketId> sockets;
  for (const std::int32_t id : ids) {
    const std::string directory = fmt::format("{}/cpu{}", kCpuDirectory, id);
    if (id >= CpuSet::kMaxCpus) {
      return bad_tree(
          fmt::format("{}: expected CPU ids below {}", tree.shown(directory), CpuSet::kMaxCpus));
    }
    if (online && !online->contains(CpuId{id})) continue;
    if (!online) {
      PINFOLD_LET(const bool runs, is_online(tree, directory));
      if (!runs) continue;
    }
    const std::string package = directory + "/topology/physical_package_id";
    PINFOLD_LET(auto socket, tree.read(package, parse_id));
    if (!socket) continue;
    if (*socket < -1) {
      return bad_tree(fmt::format("{}: '{}': expected -1 or more", tree.shown(package), *socket));
    }
    sockets[CpuId{id}] = SocketId{*socket};
  }
  if (sockets.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("{}: no online CPU with topology files, expected a Linux /sys tree",
                            tree.shown(kCpuDirectory)));
  }
  return sockets;
}

/// The lowest CPU of each core, by the ids of its package and the core within it.
using CoresById = std::map<std::pair<std::int32_t, std::int32_t>, CpuId>;

/// Returns the lowest usable CPU among the SMT siblings of a CPU. Without a list of them, CPUs with
/// the same core_id in a package are siblings, as for cAdvisor.
Result<CoreId> read_core(const KernelTree& tree, CpuId cpu, SocketId socket, const CpuSet& usable,
                         CoresById& by_id) {
  const std::string directory = fmt::format("{}/cpu{}/topology/", kCpuDirectory, cpu.value);
  PINFOLD_LET(auto siblings,
              tree.read_cpus(directory + "thread_siblings_list", directory + "thread_siblings"));
  if (!siblings) {  // the newer names
    PINFOLD_LET(siblings, tree.read_cpus(directory + "core_cpus_list", directory + "core_cpus"));
  }
  if (!siblings) {
    PINFOLD_LET(const auto id, tree.read(directory + "core_id", parse_id));
    if (!id) return CoreId{cpu.value};
    return CoreId{by_id.emplace(std::pair(socket.value, *id), cpu).first->second.value};
  }
  CpuSet here = *siblings & usable;
  here.insert(cpu);  // some lists omit their own CPU
  return CoreId{here.first().value};
}

/// Returns the usable CPUs that share the level-3 cache of a CPU; empty if it has none.
Result<CpuSet> read_l3(const KernelTree& tree, CpuId cpu, const CpuSet& usable) {
  const std::string directory = fmt::format("{}/cpu{}/cache", kCpuDirectory, cpu.value);
  PINFOLD_LET(auto indices, tree.numbered(directory, "index"));
  // From the highest level: three files fewer for each CPU.
  for (auto index = indices.rbegin(); index != indices.rend(); ++index) {
    const std::string cache = fmt::format("{}/index{}/", directory, *index);
    PINFOLD_LET(auto level, tree.read(cache + "level", parse_id));
    if (level.value_or(0) != 3) continue;
    PINFOLD_LET(auto sharing, tree.read_cpus(cache + "shared_cpu_list", cache + "shared_cpu_map"));
    // Some machines list a cache that no CPU shares, not even its owner; it is ignored.
    CpuSet here = sharing.value_or(CpuSet{}) & usable;
    if (here.empty()) continue;
    here.insert(cpu);  // some lists omit their own CPU
    return here;
  }
  return CpuSet{};
}

/// Maps each CPU to the lowest CPU of its level-3 cache. CPUs share a cache if the list of either
/// contains the other: lists that omit a CPU contradict each other.
std::map<CpuId, CpuId> lowest_of_caches(const std::map<CpuId, CpuSet>& lists) {
  std::vector<CpuSet> caches;
  for (const auto& entry : lists) {
    const CpuSet& list = entry.second;
    CpuSet whole = list;
    std::erase_if(caches, [&](const CpuSet& cache) {
      if (!cache.intersects(list)) return false;
      whole |= cache;
      return true;
    });
    caches.push_back(std::move(whole));
  }
  std::map<CpuId, CpuId> lowest;
  for (const CpuSet& cache : caches) {
    for (const CpuId cpu : cache) {
      if (lists.contains(cpu)) lowest.emplace(cpu, cache.first());
    }
  }
  return lowest;
}

Result<std::map<std::string, std::uint64_t>> read_hugepages(const KernelTree& tree,
                                                            const std::string& directory) {
  std::map<std::string, std::uint64_t> pages;
  PINFOLD_LET(auto sizes, tree.numbered(directory, "hugepages-", "kB"));
  for (const std::int32_t size : sizes) {
    const std::string path = fmt::format("{}/hugepages-{}kB/nr_hugepages", directory, size);
    PINFOLD_LET(auto count, tree.read(path, parse_count));
    const auto bytes_each = static_cast<std::uint64_t>(size) * 1024;
    constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62U;
    if (bytes_each == 0 || count.value_or(0) > kMaxBytes / bytes_each) {
      return bad_tree(fmt::format("{}: '{}': expected pages of {} kB below 2^62 bytes in total",
                                  tree.shown(path), count.value_or(0), size));
    }
    pages[hugepage_resource(static_cast<std::uint64_t>(size))] = count.value_or(0) * bytes_each;
  }
  return pages;
}

/// Reads MemTotal; 0 with a warning if a captured tree does not have the file.
Result<std::uint64_t> read_memory(const KernelTree& tree, const std::string& path, NumaId node,
                                  std::vector<std::string>& warnings) {
  PINFOLD_LET(const auto memory, tree.read(path, parse_mem_total));
  if (memory) return *memory;
  warnings.push_back(fmt::format("{}: no such file: NUMA node {} has 0 bytes of memory",
                                 tree.shown(path), node.value));
  return 0;
}

Result<NumaNode> read_node(const KernelTree& tree, NumaId id, std::size_t node_count,
                           std::vector<std::string>& warnings) {
  const std::string directory = fmt::format("{}/node{}", kNodeDirectory, id.value);
  NumaNode node;
  node.id = id;
  PINFOLD_LET(node.memory, read_memory(tree, directory + "/meminfo", id, warnings));
  PINFOLD_LET(node.hugepages, read_hugepages(tree, directory + "/hugepages"));
  const std::string distance = directory + "/distance";
  PINFOLD_LET(auto distances, tree.read(distance, parse_distances));
  if (distances) node.distances = std::move(*distances);
  if (!node.distances.empty() && node.distances.size() != node_count) {
    return bad_tree(fmt::format("{}: {} distances, expected one for each of the {} NUMA nodes",
                                tree.shown(distance), node.distances.size(), node_count));
  }
  return node;
}

struct NumaNodes {
  std::vector<NumaNode> nodes;
  std::map<CpuId, NumaId> of_cpu;
  std::vector<std::string> warnings;
};

/// A kernel without NUMA has no node directory, so all CPUs and memory are on NUMA node 0.
Result<NumaNodes> read_single_node(const KernelTree& tree, const CpuSet& usable) {
  NumaNode node;
  node.id = NumaId{0};
  NumaNodes out;
  PINFOLD_LET(node.memory, read_memory(tree, kMemInfo, node.id, out.warnings));
  PINFOLD_LET(node.hugepages, read_hugepages(tree, "sys/kernel/mm/hugepages"));
  out.nodes.push_back(std::move(node));
  for (const CpuId cpu : usable) out.of_cpu[cpu] = NumaId{0};
  return out;
}

Result<std::vector<std::int32_t>> online_nodes(const KernelTree& tree) {
  PINFOLD_LET(auto ids, tree.numbered(kNodeDirectory, "node"));
  PINFOLD_LET(const auto online, read_online(tree, kNodeDirectory));
  if (online) std::erase_if(ids, [&](std::int32_t id) { return !online->contains(CpuId{id}); });
  return ids;
}

/// Returns the NUMA node of a CPU that the nodes `claims` list. If that is not exactly one, the
/// CPU's own link decides, else the lowest of them.
Result<NumaId> node_of_cpu(const KernelTree& tree, CpuId cpu,
                           const std::vector<std::int32_t>& claims,
                           const std::vector<std::int32_t>& online,
                           std::vector<std::string>& warnings) {
  if (claims.size() == 1) return NumaId{claims.front()};
  const std::string directory = fmt::format("{}/cpu{}", kCpuDirectory, cpu.value);
  PINFOLD_LET(auto links, tree.numbered(directory, "node"));
  const std::vector<std::int32_t>& possible = claims.empty() ? online : claims;
  std::erase_if(links, [&](std::int32_t id) {
    return std::find(possible.begin(), possible.end(), id) == possible.end();
  });
  if (links.empty() && claims.empty()) {
    return bad_tree(
        fmt::format("{}: cpu {} is on no NUMA node", tree.shown(kNodeDirectory), cpu.value));
  }
  const std::int32_t chosen = links.empty() ? claims.front() : links.front();
  warnings.push_back(fmt::format(
      "{}: cpu {} is listed by {}: assumed to be on NUMA node {}{}", tree.shown(kNodeDirectory),
      cpu.value,
      claims.empty() ? std::string("no NUMA node")
                     : fmt::format("NUMA nodes {}", fmt::join(claims, ",")),
      chosen, links.empty() ? ", the lowest of them" : fmt::format(", as '{}' says", directory)));
  return NumaId{chosen};
}

Result<NumaNodes> read_nodes(const KernelTree& tree, const CpuSet& usable) {
  PINFOLD_LET(auto ids, online_nodes(tree));
  if (ids.empty()) return read_single_node(tree, usable);
  NumaNodes out;
  std::map<CpuId, std::vector<std::int32_t>> claims;
  for (const std::int32_t id : ids) {
    const std::string directory = fmt::format("{}/node{}", kNodeDirectory, id);
    PINFOLD_LET(auto node, read_node(tree, NumaId{id}, ids.size(), out.warnings));
    out.nodes.push_back(std::move(node));
    PINFOLD_LET(auto cpus, tree.read_cpus(directory + "/cpulist", directory + "/cpumap"));
    for (const CpuId cpu : cpus.value_or(CpuSet{}) & usable) claims[cpu].push_back(id);
  }
  for (const CpuId cpu : usable) {
    PINFOLD_LET(out.of_cpu[cpu], node_of_cpu(tree, cpu, claims[cpu], ids, out.warnings));
  }
  return out;
}

/// Returns the kinds of cores that an x86 kernel names, as units of performance monitoring.
Result<std::vector<CoreKind>> named_kinds(const KernelTree& tree, const CpuSet& usable) {
  constexpr std::pair<const char*, const char*> kUnits[] = {
      {"performance", "cpu_core"}, {"efficiency", "cpu_atom"}, {"low-power", "cpu_lowpower"}};
  std::vector<CoreKind> kinds;
  for (const auto& [name, unit] : kUnits) {
    PINFOLD_LET(const auto cpus,
                tree.read(fmt::format("sys/devices/{}/cpus", unit), parse_cpu_list));
    CpuSet here = cpus.value_or(CpuSet{}) & usable;
    if (!here.empty()) kinds.push_back({name, std::move(here)});
  }
  return kinds;
}

/// Returns the kinds of cores by their capacity, which arm64 kernels show.
Result<std::vector<CoreKind>> kinds_by_capacity(const KernelTree& tree, const CpuSet& usable) {
  std::map<std::uint64_t, CpuSet, std::greater<>> by_capacity;
  for (const CpuId cpu : usable) {
    PINFOLD_LET(
        const auto capacity,
        tree.read(fmt::format("{}/cpu{}/cpu_capacity", kCpuDirectory, cpu.value), parse_count));
    if (capacity) by_capacity[*capacity].insert(cpu);
  }
  std::vector<CoreKind> kinds;
  kinds.reserve(by_capacity.size());
  for (auto& [capacity, cpus] : by_capacity) {
    kinds.push_back({fmt::format("capacity {}", capacity), std::move(cpus)});
  }
  return kinds;
}

/// Returns the kinds of cores; nullopt if there is only one or nothing is known.
Result<std::optional<std::vector<CoreKind>>> read_core_kinds(const KernelTree& tree,
                                                             const CpuSet& usable) {
  PINFOLD_LET(auto kinds, named_kinds(tree, usable));
  if (kinds.empty()) {
    PINFOLD_LET(kinds, kinds_by_capacity(tree, usable));
  }
  if (kinds.size() < 2) return std::nullopt;
  return std::optional(std::move(kinds));
}

/// Returns `known` with the memory and huge pages that its NUMA nodes have now; nullopt if there
/// are other nodes now, or a file is missing.
Result<std::optional<MachineDescription>> read_memory_again(const KernelTree& tree,
                                                            MachineDescription known) {
  CpuSet ids;
  for (const NumaNode& node : known.numa_nodes) ids.insert(CpuId{node.id.value});
  PINFOLD_LET(const auto online, read_online(tree, kNodeDirectory));
  if (online != ids || !known.warnings.empty()) return std::nullopt;
  for (NumaNode& node : known.numa_nodes) {
    const std::string directory = fmt::format("{}/node{}", kNodeDirectory, node.id.value);
    PINFOLD_LET(const auto memory, tree.read(directory + "/meminfo", parse_mem_total));
    if (!memory) return std::nullopt;
    node.memory = *memory;
    PINFOLD_LET(node.hugepages, read_hugepages(tree, directory + "/hugepages"));
  }
  PINFOLD_LET(known.memory_capacity, tree.read(kMemInfo, parse_mem_total));
  return std::optional(std::move(known));
}

/// Warns of online CPUs that are left out because they have no topology files, and of memory that
/// the NUMA nodes do not have.
void add_warnings(const KernelTree& tree, const std::optional<CpuSet>& online, const CpuSet& usable,
                  MachineDescription& description) {
  const CpuSet left_out = online.value_or(CpuSet{}) - usable;
  if (!left_out.empty()) {
    description.warnings.push_back(
        fmt::format("{}/online: '{}': only {} of {} CPUs have topology files: left out: {}",
                    tree.shown(kCpuDirectory), online->to_string(), usable.size(), online->size(),
                    left_out.to_string()));
  }
  std::uint64_t of_nodes = 0;
  for (const NumaNode& node : description.numa_nodes) of_nodes += node.memory;
  const std::uint64_t capacity = description.memory_capacity.value_or(of_nodes);
  if (capacity < of_nodes / 2) {
    description.warnings.push_back(
        fmt::format("{}: {} bytes of memory, but the NUMA nodes have {}: it is the limit of a "
                    "container, or of another machine",
                    tree.shown(kMemInfo), capacity, of_nodes));
  }
}

}  // namespace

Result<MachineDescription> read_sys_tree(const SysTree& source) {
  PINFOLD_LET(auto tree, KernelTree::open(source.root));
  PINFOLD_LET(const auto online, read_online(tree, kCpuDirectory));
  PINFOLD_LET(auto sockets, read_sockets(tree, online));
  CpuSet usable;
  for (const auto& [cpu, socket] : sockets) usable.insert(cpu);
  PINFOLD_LET(auto nodes, read_nodes(tree, usable));

  MachineDescription description;
  CoresById cores;
  std::map<CpuId, CpuSet> sharing_l3;
  for (const auto& [cpu, socket] : sockets) {
    PINFOLD_LET(auto core, read_core(tree, cpu, socket, usable, cores));
    PINFOLD_LET(auto l3, read_l3(tree, cpu, usable));
    if (!l3.empty()) sharing_l3.emplace(cpu, std::move(l3));
    description.cpus.push_back({cpu, core, socket, nodes.of_cpu[cpu], CacheId{}});
  }
  number_caches(description, lowest_of_caches(sharing_l3));
  description.numa_nodes = std::move(nodes.nodes);
  description.warnings = std::move(nodes.warnings);
  PINFOLD_LET(description.memory_capacity, tree.read(kMemInfo, parse_mem_total));
  PINFOLD_LET(description.core_kinds, read_core_kinds(tree, usable));
  add_warnings(tree, online, usable, description);
  return description;
}

Result<MachineDescription> read_numa_nodes_again(const SysTree& source, MachineDescription known) {
  PINFOLD_LET(auto tree, KernelTree::open(source.root));
  PINFOLD_LET(auto same_nodes, read_memory_again(tree, known));
  if (same_nodes) return *std::move(same_nodes);
  CpuSet usable;
  for (const Cpu& cpu : known.cpus) usable.insert(cpu.id);
  PINFOLD_LET(auto nodes, read_nodes(tree, usable));
  for (Cpu& cpu : known.cpus) cpu.numa = nodes.of_cpu[cpu.id];
  known.numa_nodes = std::move(nodes.nodes);
  known.warnings = std::move(nodes.warnings);
  PINFOLD_LET(known.memory_capacity, tree.read(kMemInfo, parse_mem_total));
  return known;
}

}  // namespace pinfold
