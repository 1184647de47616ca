#include "pinfold/machine/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "machine_fields.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// Sorts the nodes by id. Distances are by position, so their rows and columns are reordered, too.
void sort_numa_nodes(std::vector<NumaNode>& nodes) {
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return nodes[a].id < nodes[b].id; });
  std::vector<NumaNode> sorted;
  sorted.reserve(nodes.size());
  for (const std::size_t row : order) {
    NumaNode node = std::move(nodes[row]);
    if (node.distances.size() == order.size()) {
      std::vector<std::uint32_t> distances;
      distances.reserve(order.size());
      for (const std::size_t column : order) distances.push_back(node.distances[column]);
      node.distances = std::move(distances);
    }
    sorted.push_back(std::move(node));
  }
  nodes = std::move(sorted);
}

Result<void> check_numa_nodes(const std::vector<NumaNode>& nodes) {
  if (nodes.empty()) return invalid("numaNodes: expected at least one NUMA node");
  if (nodes.size() > NumaMask::kMaxNodes) {
    return invalid(
        fmt::format("numaNodes: {} nodes, expected at most {}", nodes.size(), NumaMask::kMaxNodes));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].id.value < 0) {
      return invalid(fmt::format("numaNodes: id {}, expected 0 or more", nodes[i].id.value));
    }
    if (i > 0 && nodes[i].id == nodes[i - 1].id) {
      return invalid(fmt::format("numaNodes: id {} appears twice", nodes[i].id.value));
    }
    for (const auto& [resource, bytes] : nodes[i].hugepages) {
      if (parse_page_size(resource) == resource) continue;
      return invalid(fmt::format("numaNodes: '{}': expected a page size such as 'hugepages-2Mi'",
                                 printable(resource)));
    }
    if (!nodes[i].distances.empty() && nodes[i].distances.size() != nodes.size()) {
      return invalid(fmt::format("numaNodes: node {} has {} distances, expected {}",
                                 nodes[i].id.value, nodes[i].distances.size(), nodes.size()));
    }
  }
  return {};
}

Result<void> check_cpus(const std::vector<Cpu>& cpus, const std::vector<NumaNode>& nodes) {
  if (cpus.empty()) return invalid("cpus: expected at least one online CPU");
  std::map<CoreId, SocketId> socket_of_core;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const Cpu& cpu = cpus[i];
    if (cpu.id.value < 0 || cpu.id.value >= CpuSet::kMaxCpus) {
      return invalid(
          fmt::format("cpus: id {}, expected 0 to {}", cpu.id.value, CpuSet::kMaxCpus - 1));
    }
    if (i > 0 && cpu.id == cpus[i - 1].id) {
      return invalid(fmt::format("cpus: id {} appears twice", cpu.id.value));
    }
    const bool known = std::any_of(nodes.begin(), nodes.end(),
                                   [&](const NumaNode& node) { return node.id == cpu.numa; });
    if (!known) {
      return invalid(fmt::format("cpus: cpu {} is on NUMA node {}, which is not listed",
                                 cpu.id.value, cpu.numa.value));
    }
    const auto [seen, is_new] = socket_of_core.emplace(cpu.core, cpu.socket);
    if (!is_new && seen->second != cpu.socket) {
      return invalid(fmt::format("cpus: core {} is on sockets {} and {}", cpu.core.value,
                                 seen->second.value, cpu.socket.value));
    }
  }
  return {};
}

/// Finds a NUMA node and a socket that share CPUs although each has CPUs outside the other: the
/// firmware or hypervisor describes one of them wrongly. Decisions use both as reported.
std::string crossing_of(const std::vector<Cpu>& cpus) {
  std::map<NumaId, std::set<SocketId>> sockets;
  std::map<SocketId, std::set<NumaId>> nodes;
  for (const Cpu& cpu : cpus) {
    sockets[cpu.numa].insert(cpu.socket);
    nodes[cpu.socket].insert(cpu.numa);
  }
  for (const Cpu& cpu : cpus) {
    if (sockets[cpu.numa].size() < 2 || nodes[cpu.socket].size() < 2) continue;
    std::vector<std::int32_t> both;
    for (const SocketId socket : sockets[cpu.numa]) both.push_back(socket.value);
    return fmt::format(
        "NUMA node {} spans sockets {}, which also span other NUMA nodes: the firmware or "
        "hypervisor reports a contradictory topology; it is used unchanged",
        cpu.numa.value, fmt::join(both, ","));
  }
  return {};
}

}  // namespace

Machine::Machine() = default;
Machine::Machine(const Machine&) = default;
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(const Machine&) = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

Result<Machine> Machine::make(MachineDescription description) {
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::sort(description.cpus.begin(), description.cpus.end(), by_id);
  sort_numa_nodes(description.numa_nodes);
  PINFOLD_TRY(check_numa_nodes(description.numa_nodes));
  PINFOLD_TRY(check_cpus(description.cpus, description.numa_nodes));

  std::vector<std::string>& warnings = description.warnings;
  std::string crossing = crossing_of(description.cpus);
  if (!crossing.empty() &&
      std::find(warnings.begin(), warnings.end(), crossing) == warnings.end()) {
    warnings.push_back(std::move(crossing));
  }
  Machine machine;
  machine.description_ = std::move(description);
  machine.index();
  return machine;
}

void Machine::index() {
  const auto slots = static_cast<std::size_t>(cpus().back().id.value) + 1;
  groups_of_cpu_.assign(slots, CpuGroups{});
  cpu_index_.assign(slots, -1);
  for (int position = 0; position < numa_count(); ++position) {
    numa_groups_.push_back({numa_id(position).value, {}, -1, position});
  }
  // First create the groups of each kind in the order of their ids, then fill them.
  const auto declare = [this](std::vector<Group>& groups, auto id_of) {
    std::set<std::int32_t> ids;
    for (const Cpu& cpu : cpus()) ids.insert(id_of(cpu));
    for (const std::int32_t id : ids) groups.push_back({id, {}, -1, -1});
  };
  declare(cores_, [](const Cpu& cpu) { return cpu.core.value; });
  declare(sockets_, [](const Cpu& cpu) { return cpu.socket.value; });
  declare(caches_, [](const Cpu& cpu) { return cpu.l3.value; });

  const auto join = [](std::vector<Group>& groups, std::int32_t id, const Cpu& cpu, int numa) {
    const auto group = std::lower_bound(groups.begin(), groups.end(), id,
                                        [](const Group& g, std::int32_t i) { return g.id < i; });
    if (group->cpus.empty()) {
      group->socket = cpu.socket.value;
      group->numa = numa;
    }
    group->cpus.insert(cpu.id);
    return static_cast<std::int32_t>(group - groups.begin());
  };
  for (std::size_t i = 0; i < cpus().size(); ++i) {
    const Cpu& cpu = cpus()[i];
    const int numa = *numa_position(cpu.numa);
    all_cpus_.insert(cpu.id);
    cpu_index_[static_cast<std::size_t>(cpu.id.value)] = static_cast<std::int32_t>(i);
    CpuGroups& of_cpu = groups_of_cpu_[static_cast<std::size_t>(cpu.id.value)];
    of_cpu.core = join(cores_, cpu.core.value, cpu, numa);
    of_cpu.socket = join(sockets_, cpu.socket.value, cpu, numa);
    of_cpu.cache = join(caches_, cpu.l3.value, cpu, numa);
    of_cpu.numa = join(numa_groups_, cpu.numa.value, cpu, numa);
  }
  numa_with_cpus_ =
      static_cast<int>(std::count_if(numa_groups_.begin(), numa_groups_.end(),
                                     [](const Group& group) { return !group.cpus.empty(); }));
}

const Cpu* Machine::find(CpuId cpu) const {
  if (!all_cpus_.contains(cpu)) return nullptr;
  return &cpus()[static_cast<std::size_t>(cpu_index_[static_cast<std::size_t>(cpu.value)])];
}

std::uint64_t Machine::memory() const {
  if (description_.memory_capacity) return *description_.memory_capacity;
  std::uint64_t bytes = 0;
  for (const NumaNode& node : numa_nodes()) bytes += node.memory;
  return bytes;
}

std::optional<int> Machine::numa_position(NumaId id) const {
  const auto& nodes = numa_nodes();
  const auto node = std::lower_bound(nodes.begin(), nodes.end(), id,
                                     [](const NumaNode& n, NumaId i) { return n.id < i; });
  if (node == nodes.end() || node->id != id) return std::nullopt;
  return static_cast<int>(node - nodes.begin());
}

std::vector<std::int32_t> Machine::numa_ids(NumaMask mask) const {
  std::vector<std::int32_t> ids;
  for (const int position : mask.positions()) ids.push_back(numa_id(position).value);
  return ids;
}

std::string Machine::numa_list(NumaMask mask) const {
  return fmt::format("{}", fmt::join(numa_ids(mask), ","));
}

CpuSet Machine::cpus_of_numa(NumaMask mask) const {
  CpuSet cpus;
  for (const int position : mask.positions()) cpus |= cpus_of_numa(position);
  return cpus;
}

}  // namespace pinfold
