#include "machine_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "pinfold/place/memory_policy.hpp"
#include "pinfold/text/go_text.hpp"
#include "requests.hpp"

namespace pinfold::memory {
namespace {

std::uint64_t reserved_of(const SystemReserved& reserved, std::int32_t node,
                          const std::string& type) {
  const auto of_node = reserved.find(node);
  if (of_node == reserved.end()) return 0;
  const auto found = of_node->second.find(type);
  return found == of_node->second.end() ? 0 : found->second;
}

MemoryTable empty_table(std::uint64_t total, std::uint64_t reserved, std::uint64_t allocatable) {
  return {.total = total,
          .system_reserved = reserved,
          .allocatable = allocatable,
          .reserved = 0,
          .free = allocatable};
}

/// Returns the table of a resource; nullptr if the NUMA node does not have it.
MemoryTable* find_table(NodeMemory& node, const std::string& type) {
  const auto found = node.tables.find(type);
  return found == node.tables.end() ? nullptr : &found->second;
}

std::vector<std::int32_t> sorted(std::vector<std::int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

/// Free and reserved bytes of a resource, summed over a group of NUMA nodes.
struct GroupSum {
  std::uint64_t free = 0;
  std::uint64_t reserved = 0;

  friend bool operator==(const GroupSum&, const GroupSum&) = default;
};

GroupSum sum_over(const MachineState& state, const std::vector<std::int32_t>& nodes,
                  const std::string& type) {
  GroupSum sum;
  for (const std::int32_t id : nodes) {
    const auto node = state.find(id);
    if (node == state.end()) continue;
    const auto table = node->second.tables.find(type);
    if (table == node->second.tables.end()) continue;
    sum.free += table->second.free;
    sum.reserved += table->second.reserved;
  }
  return sum;
}

/// Returns whether two sizes differ by no more than `drift`.
bool is_near(std::uint64_t a, std::uint64_t b, std::uint64_t drift) {
  return std::max(a, b) - std::min(a, b) <= drift;
}

/// Compares the tables of one NUMA node. Within a group only the sums count: how much each NUMA
/// node gave depends on the order in which pods were admitted and removed. With a drift, regular
/// memory may have other sizes, and so have more or less free.
bool same_tables(const MachineState& a, const MachineState& b, std::int32_t id,
                 std::uint64_t drift) {
  const NodeMemory& mine = a.at(id);
  const NodeMemory& other = b.at(id);
  if (mine.tables.size() != other.tables.size()) return false;
  for (const auto& [type, table] : mine.tables) {
    const auto found = other.tables.find(type);
    if (found == other.tables.end()) return false;
    const std::uint64_t tolerated = type == kMemory ? drift : 0;
    GroupSum sum = sum_over(a, mine.cells, type);
    const GroupSum other_sum = sum_over(b, mine.cells, type);
    if (tolerated > 0) sum.free = other_sum.free;
    if (!is_near(table.total, found->second.total, tolerated) ||
        !is_near(table.allocatable, found->second.allocatable, tolerated) ||
        table.system_reserved != found->second.system_reserved || sum != other_sum) {
      return false;
    }
  }
  return true;
}

bool same_state(const MachineState& a, const MachineState& b, std::uint64_t drift) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const auto& entry) {
    const auto& [id, node] = entry;
    const auto other = b.find(id);
    return other != b.end() && node.number_of_assignments == other->second.number_of_assignments &&
           sorted(node.cells) == sorted(other->second.cells) && same_tables(a, b, id, drift);
  });
}

Result<void> take_expected(MachineState& state, const std::vector<MemoryBlock>& blocks,
                           const ContainerId& holder, const RestoreRules& rules) {
  const auto error = [&](const char* what) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("[memorymanager] (pod: {}, container: {}) the memory assignment {}",
                            holder.pod, holder.name, what));
  };
  for (const MemoryBlock& block : blocks) {
    // DIFFERENCE: only one NUMA node of the block must have the resource. The kubelet requires it
    // on each, but crashes before it can write a block over NUMA nodes without it.
    const bool exists =
        std::any_of(block.numa_affinity.begin(), block.numa_affinity.end(), [&](std::int32_t id) {
          const auto node = state.find(id);
          return node != state.end() && node->second.tables.contains(block.type);
        });
    for (const std::int32_t id : block.numa_affinity) {
      if (!state.contains(id)) return error("uses the NUMA that does not exist");
      if (!exists) return error("uses memory resource that does not exist");
    }
    if (rules.tolerated_drift > 0 &&
        sum_over(state, block.numa_affinity, block.type).free < block.size) {
      return error("does not fit the machine state");
    }
    take(state, block.numa_affinity, block.type, block.size);
  }
  return {};
}

Result<std::map<std::string, Quantity>> total_reserved(const Machine& machine,
                                                       const Config& config) {
  std::map<std::string, Quantity> total;
  for (const MemoryReservation& entry : config.reserved_memory) {
    if (!machine.numa_position(NumaId{entry.numa_node})) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the reserved memory configuration references a NUMA node {} that "
                              "does not exist on this machine",
                              entry.numa_node));
    }
    for (const auto& [name, text] : entry.limits) {
      PINFOLD_LET_WRAP(auto amount, Quantity::parse(text), "reservedMemory: " + name);
      // The later entry is the first operand, so the sum is printed in its format.
      const auto [found, fresh] = total.try_emplace(name, amount);
      if (!fresh) found->second = amount + found->second;
    }
  }
  return total;
}

Result<void> check_reservation(const std::map<std::string, Quantity>& total,
                               const NodeReservation& reservation) {
  std::set<std::string> names;
  for (const auto& [name, amount] : total) names.insert(name);
  for (const auto& [name, amount] : reservation.amounts) {
    if (is_memory_resource(name)) names.insert(name);
  }
  for (const std::string& name : names) {
    const Quantity of_node = amount_of(reservation.amounts, name);
    const auto listed = total.find(name);
    const Quantity reserved = listed == total.end() ? Quantity{} : listed->second;
    if (of_node == reserved) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the total amount {} of type {} is not equal to the value {} "
                            "determined by Node Allocatable feature",
                            go::quote(reserved.to_string()), go::quote(name),
                            go::quote(of_node.to_string())));
  }
  return {};
}

}  // namespace

Result<SystemReserved> system_reserved(const Machine& machine, const Config& config,
                                       const NodeReservation& reservation) {
  PINFOLD_LET(const auto total, total_reserved(machine, config));
  PINFOLD_TRY(check_reservation(total, reservation));
  SystemReserved reserved;
  std::uint64_t memory = 0;
  for (const MemoryReservation& entry : config.reserved_memory) {
    for (const auto& [name, text] : entry.limits) {
      const auto amount = Quantity::parse(text);
      if (!amount || !amount->is_whole()) {
        return fail(ErrorCode::kInvalidArgument,
                    "could not covert a variable of type Quantity to int64");
      }
      reserved[entry.numa_node][name] = static_cast<std::uint64_t>(amount->value());
    }
  }
  for (const auto& [node, amounts] : reserved) memory += reserved_of(reserved, node, kMemory);
  if (memory == 0) {
    return fail(ErrorCode::kInvalidArgument,
                "[memorymanager] you should specify the system reserved memory");
  }
  return reserved;
}

MachineState initial_state(const Machine& machine, const SystemReserved& reserved) {
  MachineState state;
  for (const NumaNode& node : machine.numa_nodes()) {
    NodeMemory& memory = state[node.id.value];
    memory.cells = {node.id.value};
    std::uint64_t in_hugepages = 0;
    for (const auto& [name, bytes] : node.hugepages) {
      const std::uint64_t kept = reserved_of(reserved, node.id.value, name);
      memory.tables[name] = empty_table(bytes, kept, bytes - kept);
      in_hugepages += bytes;
    }
    const std::uint64_t kept = reserved_of(reserved, node.id.value, kMemory);
    memory.tables[kMemory] = empty_table(node.memory, kept, node.memory - kept - in_hugepages);
  }
  return state;
}

void take(MachineState& state, const std::vector<std::int32_t>& nodes, const std::string& type,
          std::uint64_t bytes) {
  for (const std::int32_t id : nodes) {
    NodeMemory& node = state[id];
    ++node.number_of_assignments;
    node.cells = nodes;
    MemoryTable* const table = find_table(node, type);
    if (table != nullptr) bytes = place::take_part(table->free, table->reserved, bytes);
  }
}

void release(MachineState& state, const std::vector<MemoryBlock>& blocks) {
  for (const MemoryBlock& block : blocks) {
    std::uint64_t bytes = block.size;
    for (const std::int32_t id : block.numa_affinity) {
      const auto found = state.find(id);
      if (found == state.end()) continue;
      NodeMemory& node = found->second;
      if (--node.number_of_assignments == 0) node.cells = {id};
      MemoryTable* const table = find_table(node, block.type);
      if (table != nullptr) bytes = place::release_part(table->free, table->reserved, bytes);
    }
  }
}

Result<MachineState> restored(const MemoryCheckpoint& state, MachineState fresh,
                              const RestoreRules& rules) {
  if (state.machine_state.empty() && !state.assignments.empty()) {
    return fail(ErrorCode::kCorrupt,
                "[memorymanager] machine state can not be empty when it has memory assignments");
  }
  for (const auto& [pod_uid, containers] : state.assignments.by_pod()) {
    const auto pod = state.pods.find(pod_uid);
    if (rules.with_pod_entries && pod != state.pods.end() && !pod->second.empty()) {
      PINFOLD_TRY(take_expected(fresh, pod->second, {pod_uid, ""}, rules));
      continue;
    }
    for (const auto& [container, blocks] : containers) {
      PINFOLD_TRY(take_expected(fresh, blocks, {pod_uid, container}, rules));
    }
  }
  if (same_state(state.machine_state, fresh, 0)) return state.machine_state;
  if (rules.tolerated_drift > 0 && same_state(state.machine_state, fresh, rules.tolerated_drift)) {
    return fresh;
  }
  return fail(ErrorCode::kCorrupt,
              "[memorymanager] the expected machine state is different from the real one");
}

}  // namespace pinfold::memory
