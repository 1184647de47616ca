#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "search.hpp"

// Chooses the spots of one pod's units; see search.cpp.

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

}  // namespace

Enumeration Search::units_from(Placing& placing, const PlanCost& cost) {
  if (placing.spots.size() == placing.pod->units.size()) return placed(placing);
  const Unit& unit = placing.pod->units[placing.spots.size()];
  if (unit.had && available(placing, unit).contains_all(unit.had->cpus)) {
    if (try_spot(placing, cost, *unit.had) == Enumeration::kStop) return Enumeration::kStop;
  }
  if (unit.cpus == 0) return try_cpus(placing, cost, {});
  const CpuChoice choice = cpu_choice(placing, unit);
  if (choice.available.size() < unit.cpus) return Enumeration::kContinue;
  const VisitCpus visit = [&](const CpuSet& cpus) { return try_cpus(placing, cost, cpus); };
  if (pass_ == Pass::kAll) return for_each_choice_of_cpus(choice, visit);
  if (unit.had_cpus.empty()) {
    // Any CPUs cost the same, so those that the policy options prefer are tried first.
    const auto natural = natural_spot(placing, unit, choice);
    if (natural && try_spot(placing, cost, *natural) == Enumeration::kStop) {
      return Enumeration::kStop;
    }
  }
  return for_each_good_choice(choice, visit);
}

CpuSet Search::available(const Placing& placing, const Unit& unit) const {
  CpuSet cpus = placing.before.free - placing.taken;
  if (!unit.is_init()) return cpus;
  CpuSet others;  // an init container may have been given CPUs of one that runs later
  for (std::size_t i = 0; i < placing.spots.size(); ++i) {
    const bool is_shared = may_share(*placing.pod, unit, placing.pod->units[i]);
    (is_shared ? cpus : others) |= placing.spots[i].cpus;
  }
  return cpus - others;
}

CpuChoice Search::cpu_choice(const Placing& placing, const Unit& unit) const {
  CpuChoice choice;
  choice.machine = &node_.machine();
  choice.available = available(placing, unit);
  choice.own = unit.had_cpus;
  choice.count = unit.cpus;
  choice.owner = owners(placing.index + 1);
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

std::optional<Spot> Search::natural_spot(const Placing& placing, const Unit& unit,
                                         const CpuChoice& choice) const {
  Board board = placing.before;
  for (const CpuId cpu : choice.available) {
    if (choice.owner[static_cast<std::size_t>(cpu.value)] >= 0) board.free.erase(cpu);
  }
  board.free &= choice.available;
  if (auto spot = judge_.natural(*placing.pod, unit, board)) return spot;
  board.free = choice.available;
  return judge_.natural(*placing.pod, unit, board);
}

/// Returns the NUMA nodes to try: those that the unit has, those of its CPUs, single ones, all of
/// them; in the last pass every set.
std::vector<NumaMask> Search::memory_masks(const Unit& unit, const CpuSet& cpus) {
  const Machine& machine = node_.machine();
  std::vector<NumaMask> masks;
  const auto add = [&](NumaMask mask) {
    const bool is_new = std::find(masks.begin(), masks.end(), mask) == masks.end();
    if (is_new && !mask.empty()) masks.push_back(mask);
  };
  if (unit.had) add(unit.had->memory);
  NumaMask near;
  for (const CpuId cpu : cpus) near = near | NumaMask::of(machine.groups_of(cpu).numa);
  add(near);
  for (const int position : machine.all_numa().positions()) add(NumaMask::of(position));
  add(machine.all_numa());
  if (pass_ != Pass::kAll) return masks;
  if (machine.numa_count() > kMaxNodesForEveryMemoryMask) {
    is_complete_ = false;
    return masks;
  }
  for_each_mask(machine.numa_count(), add);
  return masks;
}

/// Returns whether NUMA nodes have enough free memory for a unit, as far as this is known without
/// the memory manager: with init containers, less can do.
bool Search::has_memory(const Placing& placing, const Unit& unit, NumaMask mask) const {
  const auto& units = placing.pod->units;
  if (std::any_of(units.begin(), units.end(), [](const Unit& other) { return other.is_init(); })) {
    return true;
  }
  const auto ids = node_.machine().numa_ids(mask);
  return std::all_of(unit.memory.begin(), unit.memory.end(), [&](const auto& amount) {
    const auto& [type, bytes] = amount;
    return free_bytes(placing.before.memory, {ids, type, bytes}) >= bytes;
  });
}

Enumeration Search::try_cpus(Placing& placing, const PlanCost& cost, const CpuSet& cpus) {
  const Unit& unit = placing.pod->units[placing.spots.size()];
  if (unit.memory.empty()) return try_spot(placing, cost, {cpus, {}});
  for (const NumaMask mask : memory_masks(unit, cpus)) {
    if (!has_memory(placing, unit, mask)) continue;
    if (try_spot(placing, cost, {cpus, mask}) == Enumeration::kStop) return Enumeration::kStop;
  }
  return Enumeration::kContinue;
}

Enumeration Search::try_spot(Placing& placing, const PlanCost& cost, const Spot& spot) {
  const PodCase& pod = *placing.pod;
  const Unit& unit = pod.units[placing.spots.size()];
  if (!step()) return Enumeration::kStop;
  PlanCost next = cost;
  if (unit.container != nullptr) {
    // Without the bytes, which are known only after the memory is allocated.
    const Part before = part_of(pod.before, unit.container->name);
    Part after = before;
    if (unit.cpus > 0) after.cpus = spot.cpus;
    if (is_moved(before, after)) {
      next = next + PlanCost{0, 0, 1, moved_cpus(before, after), 0};
    }
  }
  const CpuSet free = placing.before.free - placing.taken - spot.cpus;
  if (!can_improve(next, placing.index + 1, free)) return Enumeration::kContinue;
  if (!pod.is_joint && !judge_.allows(pod, unit, spot)) return Enumeration::kContinue;
  const CpuSet taken = placing.taken;
  const bool all_kept = placing.all_kept;
  placing.taken |= spot.cpus;
  placing.spots.push_back(spot);
  placing.all_kept = all_kept && unit.had == spot;
  const Enumeration result = units_from(placing, next);
  placing.spots.pop_back();
  placing.taken = taken;
  placing.all_kept = all_kept;
  return result;
}

bool Search::allows_together(const Placing& placing) const {
  const PodCase& pod = *placing.pod;
  if (judge_.allows_together(pod, placing.spots)) return true;
  // If the other pods leave no set of NUMA nodes that is large enough for the pod, decide() may
  // admit it container by container. Where the target really goes, rules_.accepts checks last.
  return order_[placing.index] == target_ &&
         judge_.allows_together(pod, placing.spots, Neighbours::kOnTheSameNodes);
}

Enumeration Search::placed(const Placing& placing) {
  const PodCase& pod = *placing.pod;
  const bool is_target = order_[placing.index] == target_;
  if (placing.all_kept && !is_target) return Enumeration::kContinue;  // see keep_all()
  Board next = placing.before;
  next.free -= placing.taken;
  if (!allocate_memory(pod, placing.spots, next)) return Enumeration::kContinue;
  if (pod.is_joint && !allows_together(placing)) return Enumeration::kContinue;
  Choice choice = choice_of(pod, placing.spots, next);
  const PlanCost cost = placing.cost + cost_of_moves(pod, choice.after);
  choices_[order_[placing.index]] = std::move(choice);
  return from(placing.index + 1, next, cost);
}

/// Lets the memory manager allocate on exactly the NUMA nodes of the spots. Returns false if it
/// cannot, because too little is free there or other memory has made groups of NUMA nodes.
bool Search::allocate_memory(const PodCase& pod, const std::vector<Spot>& spots,
                             Board& board) const {
  const PodUid& uid = pod.spec().uid;
  const PodView view(pod.spec());
  const auto is_at = [&](const std::vector<MemoryBlock>& blocks, NumaMask mask) {
    return nodes_of(node_.machine(), blocks) == mask;
  };
  // DEVIATION (quirk): kubelets make overlapping groups; a plan does not.
  const auto can_be_at = [&](NumaMask mask) {
    const auto ids = node_.machine().numa_ids(mask);
    board.new_memory.insert(ids.begin(), ids.end());
    return can_be_group(board.memory, ids);
  };
  if (pod.is_whole && !pod.units.empty()) {
    if (pod.units.front().memory.empty()) return true;
    const NumaMask mask = spots.front().memory;
    return can_be_at(mask) &&
           node_.memory().allocate_pod(board.memory, view, {mask, false}, nullptr) &&
           is_at(board.memory.pods[uid], mask);
  }
  for (const Container& container : pod.spec().containers) {
    for (std::size_t i = 0; i < spots.size(); ++i) {
      const Unit& unit = pod.units[i];
      if (unit.container != &container || unit.memory.empty()) continue;
      const NumaMask mask = spots[i].memory;
      if (!can_be_at(mask) ||
          !node_.memory().allocate(board.memory, view, container, {mask, false}, nullptr)) {
        return false;
      }
      const auto* const blocks = board.memory.assignments.find({uid, container.name});
      if (blocks == nullptr || !is_at(*blocks, mask)) return false;
    }
  }
  return true;
}

Choice Search::choice_of(const PodCase& pod, const std::vector<Spot>& spots,
                         const Board& board) const {
  const PodUid& uid = pod.spec().uid;
  Choice choice;
  if (pod.is_whole) {
    if (spots.empty()) return choice;
    choice.after = judge_.divide(pod, spots.front());
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
