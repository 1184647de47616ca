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

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// The CPUs that count, with their sockets: online, and with topology files.
Result<std::map<CpuId, SocketId>> read_sockets(const KernelTree& tree) {
  auto ids = tree.numbered(kCpuDirectory, "cpu");
  if (!ids) return fail(std::move(ids).error());
  auto online = tree.read(fmt::format("{}/online", kCpuDirectory), parse_cpu_list);
  if (!online) return fail(std::move(online).error());
  std::map<CpuId, SocketId> sockets;
  for (const std::int32_t id : *ids) {
    const std::string directory = fmt::format("{}/cpu{}", kCpuDirectory, id);
    if (id >= CpuSet::kMaxCpus) {
      return invalid(
          fmt::format("{}: expected CPU ids below {}", tree.shown(directory), CpuSet::kMaxCpus));
    }
    bool is_online = true;
    if (*online) {
      is_online = (*online)->contains(CpuId{id});
    } else {  // kernels before 2.6.26 have no list
      auto flag = tree.read(directory + "/online", parse_id);
      if (!flag) return fail(std::move(flag).error());
      is_online = flag->value_or(1) != 0;
    }
    if (!is_online) continue;
    const std::string package = directory + "/topology/physical_package_id";
    auto socket = tree.read(package, parse_id);
    if (!socket) return fail(std::move(socket).error());
    if (!*socket) continue;
    if (**socket < -1) {
      return invalid(fmt::format("{}: '{}': expected -1 or more", tree.shown(package), **socket));
    }
    sockets[CpuId{id}] = SocketId{**socket};
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
  auto siblings = tree.read_cpus(directory + "thread_siblings_list", directory + "thread_siblings");
  if (siblings && !*siblings) {  // the newer names
    siblings = tree.read_cpus(directory + "core_cpus_list", directory + "core_cpus");
  }
  if (!siblings) return fail(std::move(siblings).error());
  const CpuSet here = siblings->value_or(CpuSet::of(cpu)) & usable;
  return CoreId{here.empty() ? cpu.value : here.first().value};
}

/// The lowest usable CPU that shares the level-3 cache of a CPU; nullopt without such a cache.
Result<std::optional<CpuId>> read_l3(const KernelTree& tree, CpuId cpu, const CpuSet& usable) {
  const std::string directory = fmt::format("{}/cpu{}/cache", kCpuDirectory, cpu.value);
  auto indices = tree.numbered(directory, "index");
  if (!indices) return fail(std::move(indices).error());
  for (const std::int32_t index : *indices) {
    const std::string cache = fmt::format("{}/index{}/", directory, index);
    auto level = tree.read(cache + "level", parse_id);
    if (!level) return fail(std::move(level).error());
    if (level->value_or(0) != 3) continue;
    auto sharing = tree.read_cpus(cache + "shared_cpu_list", cache + "shared_cpu_map");
    if (!sharing) return fail(std::move(sharing).error());
    // Some machines list a cache that nobody shares, not even its owner: that tells nothing.
    const CpuSet here = sharing->value_or(CpuSet{}) & usable;
    if (!here.empty()) return here.first();
  }
  return std::optional<CpuId>{};
}

Result<std::map<std::string, std::uint64_t>> read_hugepages(const KernelTree& tree,
                                                            const std::string& directory) {
  std::map<std::string, std::uint64_t> pages;
  auto sizes = tree.numbered(directory, "hugepages-", "kB");
  if (!sizes) return fail(std::move(sizes).error());
  for (const std::int32_t size : *sizes) {
    const std::string path = fmt::format("{}/hugepages-{}kB/nr_hugepages", directory, size);
    auto count = tree.read(path, parse_count);
    if (!count) return fail(std::move(count).error());
    const auto bytes_each = static_cast<std::uint64_t>(size) * 1024;
    constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62U;
    if (bytes_each == 0 || count->value_or(0) > kMaxBytes / bytes_each) {
      return invalid(fmt::format("{}: '{}': expected pages of {} kB below 2^62 bytes in all",
                                 tree.shown(path), count->value_or(0), size));
    }
    pages[hugepage_resource(static_cast<std::uint64_t>(size))] = count->value_or(0) * bytes_each;
  }
  return pages;
}

Result<std::uint64_t> read_memory(const KernelTree& tree, const std::string& path) {
  auto memory = tree.read(path, parse_mem_total);
  if (!memory) return fail(std::move(memory).error());
  if (!*memory) {
    return fail(ErrorCode::kNotFound,
                fmt::format("{}: no such file, expected the memory in it", tree.shown(path)));
  }
  return **memory;
}

Result<NumaNode> read_node(const KernelTree& tree, const std::string& directory,
                           std::size_t node_count) {
  NumaNode node;
  auto memory = read_memory(tree, directory + "/meminfo");
  if (!memory) return fail(std::move(memory).error());
  node.memory = *memory;
  auto pages = read_hugepages(tree, directory + "/hugepages");
  if (!pages) return fail(std::move(pages).error());
  node.hugepages = std::move(*pages);
  const std::string distance = directory + "/distance";
  auto distances = tree.read(distance, parse_distances);
  if (!distances) return fail(std::move(distances).error());
  if (*distances) node.distances = std::move(**distances);
  if (!node.distances.empty() && node.distances.size() != node_count) {
    return invalid(fmt::format("{}: {} distances, expected one for each of the {} NUMA nodes",
                               tree.shown(distance), node.distances.size(), node_count));
  }
  return node;
}

struct Nodes {
  std::vector<NumaNode> nodes;
  std::map<CpuId, NumaId> of_cpu;
};

/// A kernel without NUMA has no node directory: all its CPUs and memory are node 0.
Result<Nodes> read_single_node(const KernelTree& tree, const CpuSet& usable) {
  NumaNode node;
  node.id = NumaId{0};
  auto memory = read_memory(tree, "proc/meminfo");
  if (!memory) return fail(std::move(memory).error());
  node.memory = *memory;
  auto pages = read_hugepages(tree, "sys/kernel/mm/hugepages");
  if (!pages) return fail(std::move(pages).error());
  node.hugepages = std::move(*pages);
  Nodes out;
  out.nodes.push_back(std::move(node));
  for (const CpuId cpu : usable) out.of_cpu[cpu] = NumaId{0};
  return out;
}

Result<std::vector<std::int32_t>> online_nodes(const KernelTree& tree) {
  auto ids = tree.numbered(kNodeDirectory, "node");
  if (!ids) return fail(std::move(ids).error());
  auto online = tree.read(fmt::format("{}/online", kNodeDirectory), parse_cpu_list);
  if (!online) return fail(std::move(online).error());
  if (*online)
    std::erase_if(*ids, [&](std::int32_t id) { return !(*online)->contains(CpuId{id}); });
  return ids;
}

Result<Nodes> read_nodes(const KernelTree& tree, const CpuSet& usable) {
  auto ids = online_nodes(tree);
  if (!ids) return fail(std::move(ids).error());
  if (ids->empty()) return read_single_node(tree, usable);
  Nodes out;
  for (const std::int32_t id : *ids) {
    const std::string directory = fmt::format("{}/node{}", kNodeDirectory, id);
    auto node = read_node(tree, directory, ids->size());
    if (!node) return fail(std::move(node).error());
    node->id = NumaId{id};
    out.nodes.push_back(std::move(*node));
    auto cpus = tree.read_cpus(directory + "/cpulist", directory + "/cpumap");
    if (!cpus) return fail(std::move(cpus).error());
    for (const CpuId cpu : cpus->value_or(CpuSet{}) & usable) {
      const auto [seen, is_new] = out.of_cpu.emplace(cpu, NumaId{id});
      if (!is_new) {
        return invalid(fmt::format("{}: cpu {} is on NUMA node {} already", tree.shown(directory),
                                   cpu.value, seen->second.value));
      }
    }
  }
  for (const CpuId cpu : usable) {
    if (out.of_cpu.contains(cpu)) continue;
    return invalid(
        fmt::format("{}: cpu {} is on no NUMA node", tree.shown(kNodeDirectory), cpu.value));
  }
  return out;
}

}  // namespace

Result<MachineDescription> read_sys_tree(const SysTree& source) {
  auto tree = KernelTree::open(source.root);
  if (!tree) return fail(std::move(tree).error());
  auto sockets = read_sockets(*tree);
  if (!sockets) return fail(std::move(sockets).error());
  CpuSet usable;
  for (const auto& [cpu, socket] : *sockets) usable.insert(cpu);
  auto nodes = read_nodes(*tree, usable);
  if (!nodes) return fail(std::move(nodes).error());

  MachineDescription description;
  std::map<CpuId, CpuId> l3_of;
  for (const auto& [cpu, socket] : *sockets) {
    auto core = read_core(*tree, cpu, usable);
    if (!core) return fail(std::move(core).error());
    auto l3 = read_l3(*tree, cpu, usable);
    if (!l3) return fail(std::move(l3).error());
    if (*l3) l3_of[cpu] = **l3;
    description.cpus.push_back({cpu, *core, socket, nodes->of_cpu[cpu], CacheId{}});
  }
  number_caches(description, l3_of);
  description.numa_nodes = std::move(nodes->nodes);
  return description;
}

}  // namespace pinfold
