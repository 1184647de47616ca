#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "hwloc_topology.hpp"
#include "number_caches.hpp"
#include "pinfold/discover/kernel_files.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold {
namespace {

/// Returns all objects of a type, in ascending order of their OS ids.
std::vector<hwloc_obj_t> objects(const Topology& topology, hwloc_obj_type_t type) {
  const Libhwloc& hwloc = *topology.get_deleter().hwloc;
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t object = nullptr;
       (object = next_object(hwloc, topology.get(), type, object)) != nullptr;) {
    found.push_back(object);
  }
  std::sort(found.begin(), found.end(),
            [](hwloc_obj_t a, hwloc_obj_t b) { return a->os_index < b->os_index; });
  return found;
}

NumaNode describe_node(const hwloc_obj* object) {
  NumaNode node;
  const auto& memory = object->attr->numanode;
  node.id = NumaId{static_cast<std::int32_t>(object->os_index)};
  node.memory = memory.local_memory;
  // Page types are sorted by size; the first is the base page.
  for (unsigned i = 1; i < memory.page_types_len; ++i) {
    const auto& pages = memory.page_types[i];
    if (pages.size < 1024) continue;
    node.hugepages[hugepage_resource(pages.size / 1024)] = pages.size * pages.count;
  }
  return node;
}

struct ReleaseDistances {
  const Topology& topology;
  void operator()(hwloc_distances_s* distances) const {
    topology.get_deleter().hwloc->distances_release(topology.get(), distances);
  }
};

/// Fills in the distances if hwloc has a complete matrix.
void add_distances(const Topology& topology, std::vector<NumaNode>& nodes) {
  if (nodes.size() == 1) {  // hwloc keeps no 1x1 matrix; in ACPI the local distance is 10
    nodes[0].distances = {10};
    return;
  }
  unsigned count = 1;
  hwloc_distances_s* raw = nullptr;
  const Libhwloc& hwloc = *topology.get_deleter().hwloc;
  if (hwloc.distances_get_by_type(topology.get(), HWLOC_OBJ_NUMANODE, &count, &raw,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0) {
    return;
  }
  const std::unique_ptr<hwloc_distances_s, ReleaseDistances> matrix(raw, {topology});
  if (matrix->nbobjs != nodes.size()) return;
  const auto position = [&](hwloc_obj_t object) {
    const auto it = std::find_if(nodes.begin(), nodes.end(), [&](const NumaNode& node) {
      return node.id.value == static_cast<std::int32_t>(object->os_index);
    });
    return static_cast<std::size_t>(it - nodes.begin());
  };
  for (NumaNode& node : nodes) node.distances.resize(nodes.size());
  for (unsigned from = 0; from < matrix->nbobjs; ++from) {
    for (unsigned to = 0; to < matrix->nbobjs; ++to) {
      const hwloc_uint64_t value = matrix->values[from * matrix->nbobjs + to];
      constexpr hwloc_uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
      nodes[position(matrix->objs[from])].distances[position(matrix->objs[to])] =
          static_cast<std::uint32_t>(std::min(value, kMax));
    }
  }
}

CpuId lowest_cpu(const Topology& topology, const hwloc_obj* object) {
  return CpuId{topology.get_deleter().hwloc->bitmap_first(object->cpuset)};
}

Result<Cpu> describe_cpu(const Topology& topology, hwloc_obj_t pu,
                         const std::vector<hwloc_obj_t>& nodes) {
  const Libhwloc& hwloc = *topology.get_deleter().hwloc;
  Cpu cpu;
  cpu.id = CpuId{static_cast<std::int32_t>(pu->os_index)};
  const hwloc_obj* const core = hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_CORE, pu);
  cpu.core = CoreId{core == nullptr ? cpu.id.value : lowest_cpu(topology, core).value};
  const hwloc_obj* const socket =
      hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, pu);
  cpu.socket = SocketId{socket == nullptr ? 0 : static_cast<std::int32_t>(socket->os_index)};
  const auto node = std::find_if(nodes.begin(), nodes.end(), [&](hwloc_obj_t candidate) {
    return hwloc.bitmap_isset(candidate->cpuset, pu->os_index) != 0;
  });
  if (node != nodes.end()) {
    cpu.numa = NumaId{static_cast<std::int32_t>((*node)->os_index)};
    return cpu;
  }
  // hwloc has no object for a NUMA node without memory.
  const int id = hwloc.bitmap_last(pu->complete_nodeset);
  if (id < 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cpu {} is on no NUMA node", cpu.id.value));
  }
  cpu.numa = NumaId{id};
  return cpu;
}

/// Adds the NUMA nodes that only CPUs name.
void add_memoryless_nodes(MachineDescription& description) {
  std::map<NumaId, CpuSet> missing;
  for (const Cpu& cpu : description.cpus) missing[cpu.numa].insert(cpu.id);
  for (const NumaNode& node : description.numa_nodes) missing.erase(node.id);
  for (const auto& [id, cpus] : missing) {
    NumaNode node;
    node.id = id;
    description.numa_nodes.push_back(std::move(node));
    description.warnings.push_back(fmt::format(
        "NUMA node {} with {} has no memory object: it has 0 bytes", id.value, cpus_named(cpus)));
  }
  if (missing.empty()) return;
  for (NumaNode& node : description.numa_nodes)
    node.distances.clear();  // they do not cover all
                             // nodes
}

/// Warns of CPUs that the exporter could not use. Domain: a topology loaded with disallowed CPUs.
void warn_of_disallowed(const Topology& topology, MachineDescription& description) {
  const Libhwloc& hwloc = *topology.get_deleter().hwloc;
  const hwloc_const_bitmap_t allowed_set = hwloc.topology_get_allowed_cpuset(topology.get());
  CpuSet allowed;
  for (const Cpu& cpu : description.cpus) {
    if (hwloc.bitmap_isset(allowed_set, static_cast<unsigned>(cpu.id.value)) != 0) {
      allowed.insert(cpu.id);
    }
  }
  if (allowed.size() == description.cpus.size()) return;
  description.warnings.push_back(fmt::format(
      "the topology was exported by a program that was allowed to use {} of {} CPUs ({}): all "
      "CPUs are used",
      allowed.size(), description.cpus.size(), allowed.to_string()));
}

/// Warns of CPUs of the machine that the topology does not describe, because the exporter left them
/// out. Domain: a topology that is not this machine's.
void warn_of_missing(const Topology& topology, MachineDescription& description) {
  const Libhwloc& hwloc = *topology.get_deleter().hwloc;
  const hwloc_const_bitmap_t complete =
      hwloc.get_obj_by_depth(topology.get(), 0, 0)->complete_cpuset;
  CpuSet missing;
  const int last = hwloc.bitmap_last(complete);
  if (last < 0 || last >= CpuSet::kMaxCpus) return;  // -1: empty or infinite
  for (int id = hwloc.bitmap_first(complete); id >= 0; id = hwloc.bitmap_next(complete, id)) {
    missing.insert(CpuId{id});
  }
  for (const Cpu& cpu : description.cpus) missing.erase(cpu.id);
  if (missing.empty()) return;
  const std::string_view them = one_or_more(missing, "it", "them");
  description.warnings.push_back(fmt::format(
      "the topology does not describe {} of this machine: {} offline, or the program that exported "
      "it was not allowed to use {}; 'lstopo --disallowed' also exports {}",
      cpus_named(missing), one_or_more(missing, "it was", "they were"), them, them));
}

}  // namespace

Result<MachineDescription> describe_topology(const Topology& topology) {
  MachineDescription description;
  const std::vector<hwloc_obj_t> nodes = objects(topology, HWLOC_OBJ_NUMANODE);
  for (const hwloc_obj* const node : nodes) description.numa_nodes.push_back(describe_node(node));
  add_distances(topology, description.numa_nodes);
  std::map<CpuId, CpuId> l3_of;
  for (hwloc_obj* const pu : objects(topology, HWLOC_OBJ_PU)) {
    PINFOLD_LET(auto cpu, describe_cpu(topology, pu, nodes));
    const hwloc_obj* const l3 =
        hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_L3CACHE, pu);
    if (l3 != nullptr) l3_of[cpu.id] = lowest_cpu(topology, l3);
    description.cpus.push_back(cpu);
  }
  add_memoryless_nodes(description);
  if (topology.get_deleter().hwloc->topology_is_thissystem(topology.get()) == 0) {
    warn_of_disallowed(topology, description);
    warn_of_missing(topology, description);
  }
  number_caches(description, l3_of);
  return description;
}

}  // namespace pinfold
