#include "sys_tree.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "kernel_tree.hpp"
#include "number_caches.hpp"

namespace pinfold {
namespace {

constexpr const char* kCpuDirectory = "sys/devices/system/cpu";
constexpr const char* kNodeDirectory = "sys/devices/system/node";

tl::unexpected<Error> bad_tree(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// The usable CPUs, which are online and have topology files, with their sockets.
Result<std::map<CpuId, SocketId>> read_sockets(const KernelTree& tree) {
  PINFOLD_LET(auto ids, tree.numbered(kCpuDirectory, "cpu"));
  PINFOLD_LET(auto online, tree.read(fmt::format("{}/online", kCpuDirectory), parse_cpu_list));
  std::map<CpuId, SocketId> sockets;
  for (const std::int32_t id : ids) {
    const std::string directory = fmt::format("{}/cpu{}", kCpuDirectory, id);
    if (id >= CpuSet::kMaxCpus) {
      return bad_tree(
          fmt::format("{}: expected CPU ids below {}", tree.shown(directory), CpuSet::kMaxCpus));
    }
    bool is_online = true;
    if (online) {
      is_online = online->contains(CpuId{id});
    } else {  // kernels before 2.6.26 have no such list
      PINFOLD_LET(auto flag, tree.read(directory + "/online", parse_id));
      is_online = flag.value_or(1) != 0;
    }
    if (!is_online) continue;
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

/// The lowest usable CPU among the SMT siblings of a CPU.
Result<CoreId> read_core(const KernelTree& tree, CpuId cpu, const CpuSet& usable) {
  const std::string directory = fmt::format("{}/cpu{}/topology/", kCpuDirectory, cpu.value);
  PINFOLD_LET(auto siblings,
              tree.read_cpus(directory + "thread_siblings_list", directory + "thread_siblings"));
  if (!siblings) {  // the newer names
    PINFOLD_LET(siblings, tree.read_cpus(directory + "core_cpus_list", directory + "core_cpus"));
  }
  const CpuSet here = siblings.value_or(CpuSet::of(cpu)) & usable;
  return CoreId{here.empty() ? cpu.value : here.first().value};
}

/// The lowest usable CPU that shares the level-3 cache of a CPU; nullopt without such a cache.
Result<std::optional<CpuId>> read_l3(const KernelTree& tree, CpuId cpu, const CpuSet& usable) {
  const std::string directory = fmt::format("{}/cpu{}/cache", kCpuDirectory, cpu.value);
  PINFOLD_LET(auto indices, tree.numbered(directory, "index"));
  for (const std::int32_t index : indices) {
    const std::string cache = fmt::format("{}/index{}/", directory, index);
    PINFOLD_LET(auto level, tree.read(cache + "level", parse_id));
    if (level.value_or(0) != 3) continue;
    PINFOLD_LET(auto sharing, tree.read_cpus(cache + "shared_cpu_list", cache + "shared_cpu_map"));
    // Some machines list a cache with no sharing CPU, not even the owner: it is ignored.
    const CpuSet here = sharing.value_or(CpuSet{}) & usable;
    if (!here.empty()) return here.first();
  }
  return std::optional<CpuId>{};
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
      return bad_tree(fmt::format("{}: '{}': expected pages of {} kB below 2^62 bytes in all",
                                  tree.shown(path), count.value_or(0), size));
    }
    pages[hugepage_resource(static_cast<std::uint64_t>(size))] = count.value_or(0) * bytes_each;
  }
  return pages;
}

Result<std::uint64_t> read_memory(const KernelTree& tree, const std::string& path) {
  PINFOLD_LET(auto memory, tree.read(path, parse_mem_total));
  if (!memory) {
    return fail(ErrorCode::kNotFound,
                fmt::format("{}: no such file, expected MemTotal", tree.shown(path)));
  }
  return *memory;
}

Result<NumaNode> read_node(const KernelTree& tree, const std::string& directory,
                           std::size_t node_count) {
  NumaNode node;
  PINFOLD_LET(auto memory, read_memory(tree, directory + "/meminfo"));
  node.memory = memory;
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

struct Nodes {
  std::vector<NumaNode> nodes;
  std::map<CpuId, NumaId> of_cpu;
};

/// A kernel without NUMA has no node directory: all CPUs and memory are on NUMA node 0.
Result<Nodes> read_single_node(const KernelTree& tree, const CpuSet& usable) {
  NumaNode node;
  node.id = NumaId{0};
  PINFOLD_LET(auto memory, read_memory(tree, "proc/meminfo"));
  node.memory = memory;
  PINFOLD_LET(node.hugepages, read_hugepages(tree, "sys/kernel/mm/hugepages"));
  Nodes out;
  out.nodes.push_back(std::move(node));
  for (const CpuId cpu : usable) out.of_cpu[cpu] = NumaId{0};
  return out;
}

Result<std::vector<std::int32_t>> online_nodes(const KernelTree& tree) {
  PINFOLD_LET(auto ids, tree.numbered(kNodeDirectory, "node"));
  PINFOLD_LET(auto online, tree.read(fmt::format("{}/online", kNodeDirectory), parse_cpu_list));
  if (online) std::erase_if(ids, [&](std::int32_t id) { return !online->contains(CpuId{id}); });
  return ids;
}

Result<Nodes> read_nodes(const KernelTree& tree, const CpuSet& usable) {
  PINFOLD_LET(auto ids, online_nodes(tree));
  if (ids.empty()) return read_single_node(tree, usable);
  Nodes out;
  for (const std::int32_t id : ids) {
    const std::string directory = fmt::format("{}/node{}", kNodeDirectory, id);
    PINFOLD_LET(auto node, read_node(tree, directory, ids.size()));
    node.id = NumaId{id};
    out.nodes.push_back(std::move(node));
    PINFOLD_LET(auto cpus, tree.read_cpus(directory + "/cpulist", directory + "/cpumap"));
    for (const CpuId cpu : cpus.value_or(CpuSet{}) & usable) {
      const auto [seen, is_new] = out.of_cpu.emplace(cpu, NumaId{id});
      if (!is_new) {
        return bad_tree(fmt::format("{}: cpu {} is on NUMA node {} already", tree.shown(directory),
                                    cpu.value, seen->second.value));
      }
    }
  }
  for (const CpuId cpu : usable) {
    if (out.of_cpu.contains(cpu)) continue;
    return bad_tree(
        fmt::format("{}: cpu {} is on no NUMA node", tree.shown(kNodeDirectory), cpu.value));
  }
  return out;
}

}  // namespace

Result<MachineDescription> read_sys_tree(const SysTree& source) {
  PINFOLD_LET(auto tree, KernelTree::open(source.root));
  PINFOLD_LET(auto sockets, read_sockets(tree));
  CpuSet usable;
  for (const auto& [cpu, socket] : sockets) usable.insert(cpu);
  PINFOLD_LET(auto nodes, read_nodes(tree, usable));

  MachineDescription description;
  std::map<CpuId, CpuId> l3_of;
  for (const auto& [cpu, socket] : sockets) {
    PINFOLD_LET(auto core, read_core(tree, cpu, usable));
    PINFOLD_LET(auto l3, read_l3(tree, cpu, usable));
    if (l3) l3_of[cpu] = *l3;
    description.cpus.push_back({cpu, core, socket, nodes.of_cpu[cpu], CacheId{}});
  }
  number_caches(description, l3_of);
  description.numa_nodes = std::move(nodes.nodes);
  return description;
}

}  // namespace pinfold
