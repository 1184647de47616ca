#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

// How it works
//
// The judge knows no allocation rule. It builds a state in which exactly the resources in question
// are free, asks decide() and the managers, and looks at their answer.
//   - state_for() makes an empty node with only the given CPUs and memory free. Devices and hint
//     providers stay as they are; devices of containers that the question leaves out belong to a
//     made-up pod, so that they are in use.
//   - free_exactly() distributes free memory so that only all the given NUMA nodes together have
//     enough: decide() can use exactly these or reject.
//   - about_unit() asks about one unit alone, about() about all units of a pod. A pod with
//     is_joint (scope pod) is always judged as a whole.
//   - natural() asks where decide() would put a unit by itself.
//
// Invariants: a unit alone is allowed a spot only if decide() gives it exactly its number of CPUs
// out of the spot. Verdicts do not depend on the CPUs and memory of other pods, so they are cached
// by unit and spot.
//
// Complexity: one decide() for each new pair of unit and spot. on_empty_node() may need 2^n - 1
// decisions for n NUMA nodes, or n + 1 beyond kMaxNodesForEveryPart.

namespace pinfold::planning {
namespace {

/// On larger machines, only single NUMA nodes are tried as parts of the empty node.
constexpr int kMaxNodesForEveryPart = 4;

/// Returns a unit's CPUs after a decision.
CpuSet cpus_of(const NodeState& state, const PodUid& uid, const Unit& unit) {
  if (unit.container == nullptr) {
    const auto found = state.cpu.pods.find(uid);
    return found == state.cpu.pods.end() ? CpuSet{} : found->second;
  }
  const CpuSet* const found = state.cpu.assignments.find({uid, unit.container->name});
  return found == nullptr ? CpuSet{} : *found;
}

std::string text_of(const Spot& spot) {
  return fmt::format("{}/{}", spot.cpus.to_string(), spot.memory.bits());
}

/// Gives each container what it had, but replaces the CPUs that the pod loses by others of the
/// spot.
void replace_lost_cpus(const PodCase& pod, const Spot& spot, std::map<std::string, Part>& parts) {
  const CpuSet lost = *pod.whole_before.cpus - spot.cpus;
  const CpuSet gained = spot.cpus - *pod.whole_before.cpus;
  for (auto& [name, part] : parts) {
    if (!part.cpus) continue;
    part.cpus = part_of(pod.before, name).cpus;
    auto next = gained.begin();
    for (const CpuId cpu : lost) {
      const CpuId replacement = *next;
      ++next;
      if (!part.cpus->contains(cpu)) continue;
      part.cpus->erase(cpu);
      part.cpus->insert(replacement);
    }
  }
}

}  // namespace

Judge::Judge(const Node& node, const NodeState& state)
    : node_(node), state_(state), empty_(empty_state(node)) {}

PodSpec Judge::only(const PodSpec& pod, const Container& container) {
  PodSpec part = pod;
  part.containers = {container};
  return part;
}

/// Builds a state in which only `free` and what is free in `memory` are free. All devices stay
/// where they are; those of the pod's containers outside the question belong to another pod.
NodeState Judge::state_for(const PodSpec& pod, const CpuSet& free,
                           std::map<std::int32_t, NodeMemory> memory) const {
  NodeState state = empty_;
  if (node_.cpu().is_static()) state.cpu.default_set = free;
  state.memory.machine_state = std::move(memory);
  state.devices = state_.devices;
  state.providers = state_.providers;
  for (const auto& [uid, containers] : state_.devices.assignments.by_pod()) {
    if (uid != pod.uid) state.held.insert(uid);
  }
  const auto* const devices = state_.devices.assignments.find(pod.uid);
  if (devices == nullptr) return state;
  const PodUid others(pod.uid.value + " (others)");
  for (const auto& [name, held] : *devices) {
    if (pod.find(name) != nullptr) continue;
    state.devices.assignments.erase(ContainerId{pod.uid, name});
    state.devices.assignments[{others, name}] = held;
  }
  state.held.insert(others);
  return state;
}

std::map<std::int32_t, NodeMemory> Judge::no_memory() const {
  auto memory = empty_.memory.machine_state;
  for (auto& [id, node] : memory) {
    for (auto& [type, table] : node.tables) table.free = 0;
  }
  return memory;
}

/// Frees the amounts so that only all of these NUMA nodes together have enough: one byte on each
/// except the first.
void Judge::free_exactly(std::map<std::int32_t, NodeMemory>& memory, NumaMask nodes,
                         const Amounts& amounts) const {
  for (const auto& [type, bytes] : amounts) {
    std::uint64_t rest = bytes;
    MemoryTable* first = nullptr;
    for (const std::int32_t id : node_.machine().numa_ids(nodes)) {
      auto& tables = memory.at(id).tables;
      const auto table = tables.find(type);
      if (table == tables.end()) continue;
      if (first == nullptr) {
        first = &table->second;
      } else if (rest > 1) {
        ++table->second.free;
        --rest;
      }
    }
    if (first != nullptr) first->free += rest;
  }
}

/// Makes the NUMA nodes a group, as memory of another pod on exactly these nodes would.
void Judge::make_group(std::map<std::int32_t, NodeMemory>& memory, NumaMask nodes) const {
  const auto ids = node_.machine().numa_ids(nodes);
  for (const std::int32_t id : ids) {
    const auto found = memory.find(id);
    if (found == memory.end()) continue;  // no memory manager
    found->second.cells = ids;
    found->second.number_of_assignments = 1;
  }
}

/// Returns the CPUs and the rest of their cores. With full-pcpus-only every container has whole
/// cores, so a core is never free in part.
CpuSet Judge::with_cores(const CpuSet& cpus) const {
  if (!node_.cpu().options().full_pcpus_only) return cpus;
  const Machine& machine = node_.machine();
  CpuSet cores;
  const CpuSet known = cpus & machine.all_cpus();
  for (const CpuId cpu : known) {
    cores |= machine.cores()[static_cast<std::size_t>(machine.groups_of(cpu).core)].cpus;
  }
  return cores & node_.cpu().allocatable();
}

Decision Judge::on_empty_node(const PodSpec& pod, Neighbours neighbours) const {
  const Machine& machine = node_.machine();
  const CpuSet allocatable = node_.cpu().is_static() ? node_.cpu().allocatable() : CpuSet{};
  auto memory = empty_.memory.machine_state;
  if (neighbours == Neighbours::kOnTheSameNodes) {
    for (const int numa : machine.all_numa().positions()) make_group(memory, NumaMask::of(numa));
  }
  Decision decision = decide(node_, state_for(pod, allocatable, memory), pod);
  if (std::holds_alternative<Admitted>(decision) || pod.containers.size() == 1) return decision;
  const int widest = machine.numa_count() <= kMaxNodesForEveryPart ? machine.numa_count() - 1 : 1;
  for (int width = 1; width <= widest; ++width) {
    std::optional<Decision> admitted;
    for_each_mask_of_width(machine.numa_count(), width, [&](NumaMask part) {
      if (admitted) return;
      auto of_part = memory;
      for (auto& [id, of_node] : of_part) {
        if (part.contains(*machine.numa_position(NumaId{id}))) continue;
        for (auto& [type, table] : of_node.tables) table.free = 0;
      }
      const CpuSet free = allocatable & machine.cpus_of_numa(part);
      Decision then = decide(node_, state_for(pod, free, std::move(of_part)), pod);
      if (std::holds_alternative<Admitted>(then)) admitted = std::move(then);
    });
    if (admitted) return *std::move(admitted);
  }
  return decision;
}

Decision Judge::about_unit(const PodCase& pod, const Unit& unit, const Spot& spot) const {
  // The memory of an init container that has ended no longer matters, so there is enough.
  auto memory = unit.has_ended ? empty_.memory.machine_state : no_memory();
  if (!unit.has_ended) free_exactly(memory, spot.memory, unit.memory);
  const bool is_all = unit.container == nullptr || pod.spec().containers.size() == 1;
  const PodSpec spec = is_all ? pod.spec() : only(pod.spec(), *unit.container);
  return decide(node_, state_for(spec, with_cores(spot.cpus), std::move(memory)), spec);
}

bool Judge::admits(const PodCase& pod, const Unit& unit, const Spot& spot) const {
  const Decision decision = about_unit(pod, unit, spot);
  const auto* const admitted = std::get_if<Admitted>(&decision);
  if (admitted == nullptr) return false;
  const CpuSet given = cpus_of(admitted->next, pod.spec().uid, unit);
  return given.size() == unit.cpus && spot.cpus.contains_all(given);
}

/// Returns whether a spot has as much as the unit gets, and only CPUs that can be exclusive.
bool Judge::is_complete(const Unit& unit, const Spot& spot) const {
  return spot.cpus.size() == unit.cpus && spot.memory.empty() == unit.memory.empty() &&
         node_.cpu().allocatable().contains_all(spot.cpus);
}

bool Judge::allows(const PodCase& pod, const Unit& unit, const Spot& spot) {
  if (!is_complete(unit, spot)) return false;
  const std::string name = unit.container == nullptr ? "" : unit.container->name;
  auto& verdicts = verdicts_[fmt::format("{}/{}", pod.spec().uid, name)];
  const auto [found, is_new] = verdicts.try_emplace(text_of(spot), false);
  if (is_new) found->second = admits(pod, unit, spot);
  return found->second;
}

bool Judge::allows_together(const PodCase& pod, const std::vector<Spot>& spots,
                            Neighbours neighbours) {
  std::string key = neighbours == Neighbours::kNone ? "" : "neighbours;";
  for (std::size_t i = 0; i < spots.size(); ++i) {
    if (!is_complete(pod.units[i], spots[i])) return false;
    key += text_of(spots[i]) + ";";
  }
  auto& verdicts = verdicts_[fmt::format("{}", pod.spec().uid)];
  const auto [found, is_new] = verdicts.try_emplace(std::move(key), false);
  if (is_new) found->second = admits_together(pod, spots, neighbours);
  return found->second;
}

Decision Judge::about(const PodCase& pod, const std::vector<Spot>& spots,
                      Neighbours neighbours) const {
  if (!pod.is_joint) {
    for (std::size_t i = 0; i < spots.size(); ++i) {
      Decision decision = about_unit(pod, pod.units[i], spots[i]);
      if (std::holds_alternative<Rejected>(decision) || i + 1 == spots.size()) return decision;
    }
    return on_empty_node(pod.spec());
  }
  CpuSet all;
  auto memory = no_memory();
  Amounts rest = pod.memory_at_once;
  NumaMask somewhere;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const Unit& unit = pod.units[i];
    all |= spots[i].cpus;
    if (unit.memory.empty()) continue;
    free_exactly(memory, spots[i].memory, unit.memory);
    if (neighbours == Neighbours::kOnTheSameNodes) make_group(memory, spots[i].memory);
    if (somewhere.empty()) somewhere = spots[i].memory;
    for (const auto& [type, bytes] : unit.memory) rest[type] -= std::min(rest[type], bytes);
  }
  free_exactly(memory, somewhere, rest);
  return decide(node_, state_for(pod.spec(), with_cores(all), std::move(memory)), pod.spec());
}

bool Judge::admits_together(const PodCase& pod, const std::vector<Spot>& spots,
                            Neighbours neighbours) const {
  const Decision decision = about(pod, spots, neighbours);
  if (std::holds_alternative<Rejected>(decision)) return false;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const Unit& unit = pod.units[i];
    if (unit.cpus == 0 || !node_.cpu().options().full_pcpus_only) continue;
    // The decision covers the CPUs of all units; which cores each gets is the CPU manager's rule.
    CpuState alone;
    alone.default_set = with_cores(spots[i].cpus);
    if (!node_.cpu().allocate(alone, pod.spec(), *unit.container, TopologyHint{}, nullptr)) {
      return false;
    }
    const CpuSet* const given = alone.assignments.find({pod.spec().uid, unit.container->name});
    if (given == nullptr || *given != spots[i].cpus) return false;
  }
  return true;
}

std::map<std::string, Part> Judge::divide(const PodCase& pod, const Spot& spot) const {
  std::map<std::string, Part> parts = pod.divided;
  const auto ids = node_.machine().numa_ids(spot.memory);
  for (auto& [name, part] : parts) {
    for (MemoryBlock& block : part.memory) block.numa_affinity = ids;
  }
  if (pod.is_divided_as_before) {
    replace_lost_cpus(pod, spot, parts);
    return parts;
  }
  const Decision decision = about_unit(pod, pod.units.front(), spot);
  const auto* const admitted = std::get_if<Admitted>(&decision);
  assert(admitted != nullptr);  // the spot is allowed
  for (auto& [name, part] : parts) {
    if (!part.cpus) continue;
    part.cpus = part_in(admitted->next, {pod.spec().uid, name}).cpus;
  }
  return parts;
}

std::optional<Spot> Judge::natural(const PodCase& pod, const Unit& unit, const Board& board) const {
  const bool is_all = unit.container == nullptr || pod.spec().containers.size() == 1;
  const PodSpec spec = is_all ? pod.spec() : only(pod.spec(), *unit.container);
  const Decision decision =
      decide(node_, state_for(spec, board.free, board.memory.machine_state), spec);
  const auto* const admitted = std::get_if<Admitted>(&decision);
  if (admitted == nullptr) return std::nullopt;
  Spot spot{cpus_of(admitted->next, spec.uid, unit), {}};
  if (unit.memory.empty()) return spot;
  const std::vector<MemoryBlock>* blocks = nullptr;
  if (unit.container == nullptr) {
    const auto found = admitted->next.memory.pods.find(spec.uid);
    if (found != admitted->next.memory.pods.end()) blocks = &found->second;
  } else {
    blocks = admitted->next.memory.assignments.find({spec.uid, unit.container->name});
  }
  const auto nodes = blocks == nullptr ? std::nullopt : nodes_of(node_.machine(), *blocks);
  if (!nodes) return std::nullopt;
  spot.memory = *nodes;
  return spot;
}

}  // namespace pinfold::planning
