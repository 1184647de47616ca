#include "tree_builder.hpp"

#include <fmt/format.h>

namespace pinfold::test {
namespace {

constexpr const char* kCpus = "sys/devices/system/cpu";
constexpr const char* kNodes = "sys/devices/system/node";

std::string mask_of(const CpuSet& cpus) {
  std::string text;
  const std::int32_t last = cpus.empty() ? 0 : cpus.last().value;
  for (std::int32_t word = last / 32; word >= 0; --word) {
    std::uint32_t bits = 0;
    for (std::int32_t bit = 0; bit < 32; ++bit) {
      if (cpus.contains(CpuId{word * 32 + bit})) bits |= 1U << bit;
    }
    text += fmt::format("{:08x}{}", bits, word > 0 ? "," : "\n");
  }
  return text;
}

void write_cpus(const TempDir& dir, const std::string& list, const std::string& mask,
                const CpuSet& cpus, const TreeStyle& style) {
  dir.write(mask, mask_of(cpus));
  if (!style.masks) dir.write(list, cpus.to_string() + "\n");
}

template <class Same>
CpuSet cpus_with(const MachineDescription& machine, Same same) {
  CpuSet cpus;
  for (const Cpu& cpu : machine.cpus) {
    if (same(cpu)) cpus.insert(cpu.id);
  }
  return cpus;
}

std::uint64_t kilobytes_of(const std::string& resource) {
  const std::string size = resource.substr(std::string("hugepages-").size());
  const std::uint64_t number = std::stoull(size);
  return size.ends_with("Gi") ? number << 20U : size.ends_with("Mi") ? number << 10U : number;
}

void write_hugepages(const TempDir& dir, const std::string& folder, const NumaNode& node) {
  for (const auto& [resource, bytes] : node.hugepages) {
    const std::uint64_t kilobytes = kilobytes_of(resource);
    dir.write(fmt::format("{}/hugepages-{}kB/nr_hugepages", folder, kilobytes),
              fmt::format("{}\n", bytes / 1024 / kilobytes));
  }
}

void write_cpu(const TempDir& dir, const MachineDescription& machine, const Cpu& cpu,
               const TreeStyle& style) {
  const std::string folder = fmt::format("{}/cpu{}", kCpus, cpu.id.value);
  dir.write(folder + "/topology/physical_package_id", fmt::format("{}\n", cpu.socket.value));
  write_cpus(dir, folder + "/topology/thread_siblings_list", folder + "/topology/thread_siblings",
             cpus_with(machine, [&](const Cpu& other) { return other.core == cpu.core; }), style);
  write_cpus(dir, folder + "/topology/core_siblings_list", folder + "/topology/core_siblings",
             cpus_with(machine, [&](const Cpu& other) { return other.socket == cpu.socket; }),
             style);
  dir.write(folder + "/cache/index0/level", "1\n");
  if (!machine.has_cache_info) return;
  dir.write(folder + "/cache/index3/level", "3\n");
  write_cpus(dir, folder + "/cache/index3/shared_cpu_list", folder + "/cache/index3/shared_cpu_map",
             cpus_with(machine, [&](const Cpu& other) { return other.l3 == cpu.l3; }), style);
}

void write_node(const TempDir& dir, const MachineDescription& machine, const NumaNode& node,
                const TreeStyle& style) {
  const std::string folder = fmt::format("{}/node{}", kNodes, node.id.value);
  dir.write(folder + "/meminfo", fmt::format("\nNode {0} MemTotal:       {1} kB\n"
                                             "Node {0} MemFree:        {1} kB\n",
                                             node.id.value, node.memory / 1024));
  // A kernel omits offline CPUs here; lists them in the first node, because discovery must not rely
  // on it.
  CpuSet cpus = cpus_with(machine, [&](const Cpu& cpu) { return cpu.numa == node.id; });
  if (node.id == machine.numa_nodes.front().id) cpus |= style.offline;
  write_cpus(dir, folder + "/cpulist", folder + "/cpumap", cpus, style);
  write_hugepages(dir, folder + "/hugepages", node);
  if (node.distances.empty()) return;
  std::string row;
  for (const std::uint32_t distance : node.distances) row += fmt::format("{} ", distance);
  row.back() = '\n';
  dir.write(folder + "/distance", row);
}

}  // namespace

void write_tree(const TempDir& dir, const MachineDescription& machine, const TreeStyle& style) {
  CpuSet online = style.bare;
  for (const Cpu& cpu : machine.cpus) {
    online.insert(cpu.id);
    write_cpu(dir, machine, cpu, style);
  }
  for (const CpuId cpu : style.bare) {
    dir.write(fmt::format("{}/cpu{}/uevent", kCpus, cpu.value), "");
  }
  for (const CpuId cpu : style.offline) {
    // As in a captured tree after a hot-unplug: the old topology files remain.
    dir.write(fmt::format("{}/cpu{}/topology/physical_package_id", kCpus, cpu.value), "0\n");
    dir.write(fmt::format("{}/cpu{}/online", kCpus, cpu.value), "0\n");
  }
  if (!style.masks) dir.write(fmt::format("{}/online", kCpus), online.to_string() + "\n");
  if (!style.numa) {
    const NumaNode& node = machine.numa_nodes.front();
    dir.write("proc/meminfo", fmt::format("MemTotal:       {} kB\n", node.memory / 1024));
    write_hugepages(dir, "sys/kernel/mm/hugepages", node);
    return;
  }
  CpuSet nodes;  // the list format is the same
  for (const NumaNode& node : machine.numa_nodes) {
    nodes.insert(CpuId{node.id.value});
    write_node(dir, machine, node, style);
  }
  if (!style.masks) dir.write(fmt::format("{}/online", kNodes), nodes.to_string() + "\n");
}

}  // namespace pinfold::test
