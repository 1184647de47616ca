#include "placing.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace pinfold::planning {
namespace {

/// On larger machines, not every set of NUMA nodes is tried for memory.
constexpr int kMaxNodesForEveryMemoryMask = 8;

/// Returns whether an init container may have CPUs of another unit, because the two never run at
/// the same time.
bool may_share(const PodCase& pod, const Unit& init, const Unit& other) {
  if (other.is_init()) return true;
  const Container* const first = pod.spec().containers.data();
  return other.container - first > init.container - first;
}

/// Renumbers CPUs that belong to one more unit: CPUs with equal numbers get an equal, new number.
void add_sharing(const CpuSet& cpus, int& last, std::vector<int>& sharing) {
  std::map<int, int> renamed;
  for (const CpuId cpu : cpus) {
    int& number = sharing[static_cast<std::size_t>(cpu.value)];
    const auto [found, is_new] = renamed.try_emplace(number, last + 1);
    if (is_new) ++last;
    number = found->second;
  }
}

void add_new(NumaMask mask, std::vector<NumaMask>& masks) {
  const bool is_new = std::find(masks.begin(), masks.end(), mask) == masks.end();
  if (is_new && !mask.empty()) masks.push_back(mask);
}

}  // namespace

CpuSet available_cpus(const Placing& placing, const Unit& unit) {
  CpuSet cpus = placing.before.free - placing.taken;
  if (!unit.is_init()) return cpus;
  CpuSet others;  // an init container may have been given CPUs of one that runs later
  for (std::size_t i = 0; i < placing.spots.size(); ++i) {
    const bool is_shared = may_share(*placing.pod, unit, placing.pod->units[i]);
    (is_shared ? cpus : others) |= placing.spots[i].cpus;
  }
  return cpus - others;
}

CpuChoice cpu_choice(const Machine& machine, const Placing& placing, const Unit& unit,
                     std::vector<int> owners) {
  CpuChoice choice;
  choice.machine = &machine;
  choice.available = available_cpus(placing, unit);
  choice.own = unit.had_cpus;
  choice.count = unit.cpus;
  choice.owner = std::move(owners);
  int number = static_cast<int>(choice.owner.size());  // greater than all owners
  const auto& units = placing.pod->units;
  for (std::size_t i = placing.spots.size() + 1; i < units.size(); ++i, ++number) {
    if (units[i].is_init()) continue;
    const CpuSet had = units[i].had_cpus & choice.available;
    for (const CpuId cpu : had) {
      choice.owner[static_cast<std::size_t>(cpu.value)] = number;
    }
  }
  if (!unit.is_init()) return choice;
  choice.sharing.assign(choice.owner.size(), 0);
  int last = 0;
  for (std::size_t i = 0; i < placing.spots.size(); ++i) {
    if (!may_share(*placing.pod, unit, units[i])) continue;
    add_sharing(placing.spots[i].cpus, last, choice.sharing);
  }
  return choice;
}

std::optional<Spot> natural_spot(Judge& judge, const Placing& placing, const Unit& unit,
                                 const CpuChoice& choice) {
  Board board = placing.before;
  for (const CpuId cpu : choice.available) {
    if (choice.owner[static_cast<std::size_t>(cpu.value)] >= 0) board.free.erase(cpu);
  }
  board.free &= choice.available;
  if (auto spot = judge.natural(*placing.pod, unit, board)) return spot;
  board.free = choice.available;
  return judge.natural(*placing.pod, unit, board);
}

std::vector<NumaMask> likely_memory(const Machine& machine, const Unit& unit, const CpuSet& cpus) {
  std::vector<NumaMask> masks;
  if (unit.had) add_new(unit.had->memory, masks);
  NumaMask near;
  for (const CpuId cpu : cpus) near = near | NumaMask::of(machine.groups_of(cpu).numa);
  add_new(near, masks);
  for (const int position : machine.all_numa().positions()) add_new(NumaMask::of(position), masks);
  add_new(machine.all_numa(), masks);
  return masks;
}

bool add_every_mask(const Machine& machine, std::vector<NumaMask>& masks) {
  if (machine.numa_count() > kMaxNodesForEveryMemoryMask) return false;
  for_each_mask(machine.numa_count(), [&](NumaMask mask) { add_new(mask, masks); });
  return true;
}

bool has_memory(const Machine& machine, const Placing& placing, const Unit& unit, NumaMask mask) {
  const auto& units = placing.pod->units;
  if (std::any_of(units.begin(), units.end(), [](const Unit& other) { return other.is_init(); })) {
    return true;
  }
  const auto ids = machine.numa_ids(mask);
  return std::all_of(unit.memory.begin(), unit.memory.end(), [&](const auto& amount) {
    const auto& [type, bytes] = amount;
    return free_bytes(placing.before.memory, {ids, type, bytes}) >= bytes;
  });
}

bool allocate_memory(const Node& node, const PodCase& pod, const std::vector<Spot>& spots,
                     Board& board) {
  const PodUid& uid = pod.spec().uid;
  const PodView view(pod.spec());
  const auto is_at = [&](const std::vector<MemoryBlock>& blocks, NumaMask mask) {
    return nodes_of(node.machine(), blocks) == mask;
  };
  // QUIRK: kubelets make overlapping groups; a plan does not.
  const auto can_be_at = [&](NumaMask mask) {
    const auto ids = node.machine().numa_ids(mask);
    board.new_memory.insert(ids.begin(), ids.end());
    return can_be_group(board.memory, ids);
  };
  if (pod.is_whole && !pod.units.empty()) {
    if (pod.units.front().memory.empty()) return true;
    const NumaMask mask = spots.front().memory;
    return can_be_at(mask) &&
           node.memory().allocate_pod(board.memory, view, {mask, false}, nullptr) &&
           is_at(board.memory.pods[uid], mask);
  }
  for (const Container& container : pod.spec().containers) {
    for (std::size_t i = 0; i < spots.size(); ++i) {
      const Unit& unit = pod.units[i];
      if (unit.container != &container || unit.memory.empty()) continue;
      const NumaMask mask = spots[i].memory;
      if (!can_be_at(mask) ||
          !node.memory().allocate(board.memory, view, container, {mask, false}, nullptr)) {
        return false;
      }
      const auto* const blocks = board.memory.assignments.find({uid, container.name});
      if (blocks == nullptr || !is_at(*blocks, mask)) return false;
    }
  }
  return true;
}

PodChoice choice_of(Judge& judge, const PodCase& pod, const std::vector<Spot>& spots,
                    const Board& board) {
  const PodUid& uid = pod.spec().uid;
  PodChoice choice;
  if (pod.is_whole) {
    if (spots.empty()) return choice;
    choice.after = judge.divide(pod, spots.front());
    if (pod.units.front().cpus > 0) choice.whole_after.cpus = spots.front().cpus;
    const auto memory = board.memory.pods.find(uid);
    if (memory != board.memory.pods.end()) choice.whole_after.memory = memory->second;
    return choice;
  }
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const Unit& unit = pod.units[i];
    Part& part = choice.after[unit.container->name];
    if (unit.cpus > 0) part.cpus = spots[i].cpus;
    const auto* const blocks = board.memory.assignments.find({uid, unit.container->name});
    if (!unit.memory.empty() && blocks != nullptr) part.memory = *blocks;
  }
  return choice;
}

}  // namespace pinfold::planning
