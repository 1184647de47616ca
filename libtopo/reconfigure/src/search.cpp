#include "search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

// How it works
//
// The search gives every pod, in a fixed order, one of these: what it has, new spots, what it has
// against the rules, or eviction. It is a branch and bound: from() handles one pod, units_from()
// the units of that pod, and both recurse until all pods have a choice. solved()
// then asks SearchRules::accepts.
//
// There are four passes:
//   kStay    no pod moves, except the target.
//   kFirst   pods move to good spots; ends with the first solution. It does not use the bound of
//            kStay; the cheaper solution of the two counts.
//   kGood    tries all good spots (for_each_good_choice).
//   kAll     tries every choice of CPUs, up to equal CPUs, and every set of NUMA nodes for memory
//            on machines of up to kMaxNodesForEveryMemoryMask.
// A pass that proves the best cost to be the least possible one ends the search.
//
// Invariants: least() is a lower bound of what a pod costs with the CPUs that are left, and
// cost + least_after() one for the whole branch; a branch that cannot improve on the best solution
// is cut. Every level works on its own copy of the board, so going back needs no undo. tried_ cuts
// branches that leave the same to the same pods as one before at no higher cost.
//
// Complexity: exponential in the worst case. SearchRules::steps limits the placements of each pass,
// except in the first two if pods may be lost: these never go back. is_exhausted() says whether
// the result is proven to be the best one.

namespace pinfold::planning {

Search::Search(const SearchProblem& problem, Judge& judge, SearchRules rules,
               std::optional<std::size_t> target)
    : problem_(problem),
      node_(*problem.node),
      judge_(judge),
      rules_(std::move(rules)),
      choices_(problem.pods.size()),
      target_(target) {
  order_pods();
}

/// Orders the pods. First come those without units, which never move and whose CPUs have no owner
/// to keep others away; then the target; then those that cannot stay, many CPUs first; then all
/// others. The only one that may move comes last, so that what the others have is taken once. Those
/// that need only memory are never last: if a solution is not accepted for lack
/// of CPUs in the shared pool, the last pod can free some.
void Search::order_pods() {
  order_.resize(problem_.pods.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto key = [&](std::size_t index) {
    const PodCase& pod = problem_.pods[index];
    std::size_t cpus = 0;
    for (const Unit& unit : pod.units) cpus += unit.cpus;
    const bool must_move = least(pod, problem_.board.free) > PlanCost{} || !pod.keep_allowed;
    const std::size_t by_size = must_move && cpus > 0 ? ~cpus : cpus;
    return std::tuple(index == rules_.only, !pod.units.empty(), index != target_, !must_move,
                      by_size);
  };
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
}

/// Returns the least that a pod can cost. Costs compare lexicographically, and sums of them keep
/// that order, so the sum for several pods is the least that all of them can cost.
PlanCost Search::least(const PodCase& pod, const CpuSet& free) const {
  if (rules_.same_rules || !pod.rejection) {
    PlanCost cost;
    for (const Unit& unit : pod.units) cost = cost + least_of_unit(unit, free);
    const bool must_move = !rules_.same_rules && pod.is_joint && !pod.keep_allowed;
    const bool had_all = std::all_of(pod.units.begin(), pod.units.end(),
                                     [](const Unit& unit) { return unit.had.has_value(); });
    if (must_move && had_all && cost == PlanCost{}) cost.containers_moved = 1;
    return cost;
  }
  const bool has_cpus = std::all_of(pod.before.begin(), pod.before.end(), [&](const auto& entry) {
    const Part part = verbatim(node_, entry.second);
    return !part.cpus || free.contains_all(*part.cpus);
  });
  return !rules_.evict && has_cpus ? PlanCost{0, 1, 0, 0, 0} : PlanCost{1, 0, 0, 0, 0};
}

PlanCost Search::least_of_unit(const Unit& unit, const CpuSet& free) const {
  // A unit that had nothing does not move; the containers of a whole pod may all be unaffected.
  if (!unit.had || unit.container == nullptr) return {};
  const std::size_t left = free.count_common(unit.had_cpus);
  const bool has_all = unit.cpus == 0 || left == unit.had_cpus.size();
  const bool may_stay = unit.keep_allowed || rules_.same_rules;
  if (has_all && may_stay) return {};
  const std::size_t moved = !has_all && unit.cpus > left ? unit.cpus - left : 0;
  return {0, 0, 1, moved, 0};
}

PlanCost Search::least_after(std::size_t index, const CpuSet& free) const {
  PlanCost cost;
  for (std::size_t i = index; i < order_.size(); ++i) {
    cost = cost + least(problem_.pods[order_[i]], free);
  }
  return cost;
}

bool Search::can_improve(const PlanCost& cost, std::size_t index, const CpuSet& free) const {
  return !best_ || cost + least_after(index, free) < best_->cost;
}

/// Counts a placement to try; returns false at the limit.
bool Search::step() {
  ++steps_;
  // If pods may be lost, the first passes never go back, so they need no limit.
  return (pass_ < Pass::kGood && rules_.may_lose) || steps_ <= rules_.steps;
}

void Search::run() {
  least_cost_ = least_after(0, problem_.board.free);
  least_cost_.pods_evicted += problem_.held_evicted.size();
  const PlanCost start{problem_.held_evicted.size(), 0, 0, 0, 0};
  for (const Pass pass : {Pass::kStay, Pass::kFirst, Pass::kGood, Pass::kAll}) {
    // The first two passes are independent of each other, so that no bound makes them go back.
    const auto before = pass == Pass::kFirst ? std::exchange(best_, std::nullopt) : std::nullopt;
    pass_ = pass;
    steps_ = 0;
    not_accepted_ = 0;
    tried_.clear();
    const bool is_stopped = from(0, problem_.board, start) == Enumeration::kStop;
    if (before && (!best_ || before->cost <= best_->cost)) best_ = before;
    const bool is_all = pass == Pass::kAll && !is_stopped && is_complete_;
    is_exhausted_ = is_all || (best_ && best_->cost == least_cost_);
    if (is_exhausted_) return;
  }
}

/// Returns whether the pods at or after `index` were tried before at no higher cost with the same
/// left, up to equal CPUs.
bool Search::was_tried(std::size_t index, const Board& board, const PlanCost& cost) {
  if (pass_ < Pass::kGood) return false;
  std::string key = std::to_string(index);
  add_to_key({&node_.machine(), board.free, {}, owners(index), {}, 0}, key);
  for (const auto& [id, memory] : board.memory.machine_state) {
    key += fmt::format("|{}", fmt::join(memory.cells, ","));
    if (memory.number_of_assignments == 0) key += "-";
    for (const auto& [type, table] : memory.tables) key += fmt::format(" {}", table.free);
  }
  if (node_.quirks().single_node_overwrites_group) {
    key += fmt::format("|{}", fmt::join(board.new_memory, ","));  // see take_verbatim()
  }
  const auto [found, is_new] = tried_.try_emplace(std::move(key), cost);
  if (is_new) return false;
  if (!(cost < found->second)) return true;
  found->second = cost;
  return false;
}

/// Returns by CPU id the number of the unit, of pods at or after `index`, that had the CPU; -1 if
/// none had it.
std::vector<int> Search::owners(std::size_t index) const {
  std::vector<int> owner(static_cast<std::size_t>(node_.machine().all_cpus().last().value) + 1, -1);
  int number = 0;
  for (std::size_t i = index; i < order_.size(); ++i) {
    for (const Unit& unit : problem_.pods[order_[i]].units) {
      const CpuSet had = unit.had_cpus & node_.machine().all_cpus();
      for (const CpuId cpu : had) {
        owner[static_cast<std::size_t>(cpu.value)] = number;
      }
      ++number;
    }
  }
  return owner;
}

Enumeration Search::solved(const PlanCost& cost) {
  if (best_ && !(cost < best_->cost)) return Enumeration::kContinue;
  if (rules_.accepts && !rules_.accepts(choices_)) {
    return ++not_accepted_ < rules_.steps ? Enumeration::kContinue : Enumeration::kStop;
  }
  best_ = Solution{choices_, cost};
  return pass_ < Pass::kGood || cost == least_cost_ ? Enumeration::kStop : Enumeration::kContinue;
}

Enumeration Search::from(std::size_t index, const Board& board, const PlanCost& cost) {
  if (index == order_.size()) return solved(cost);
  if (!can_improve(cost, index, board.free)) return Enumeration::kContinue;
  if (was_tried(index, board, cost)) return Enumeration::kContinue;
  const PodCase& pod = problem_.pods[order_[index]];
  const bool is_target = order_[index] == target_;
  if (!is_target && keep_all(index, board, cost) == Enumeration::kStop) return Enumeration::kStop;
  const bool may_move = pass_ != Pass::kStay && !pod.rejection && !pod.units.empty() &&
                        (!rules_.only || order_[index] == rules_.only);
  if (is_target || may_move) {
    Placing placing;
    placing.index = index;
    placing.pod = &pod;
    placing.before = board;
    placing.cost = cost;
    if (units_from(placing, cost) == Enumeration::kStop) return Enumeration::kStop;
  }
  const bool may_stay = rules_.may_lose && (pod.rejection || !pod.units.empty());
  return may_stay ? stay(index, board, cost) : Enumeration::kContinue;
}

Enumeration Search::keep_all(std::size_t index, const Board& board, const PlanCost& cost) {
  const PodCase& pod = problem_.pods[order_[index]];
  Board next = board;
  PodChoice& choice = choices_[order_[index]];
  const bool is_complete = std::all_of(pod.units.begin(), pod.units.end(),
                                       [](const Unit& unit) { return unit.had.has_value(); });
  if (!rules_.may_lose || (rules_.same_rules && is_complete)) {
    if (!take_verbatim(node_, pod.spec().uid, pod.before, pod.whole_before, next)) {
      return Enumeration::kContinue;
    }
    choice = {Outcome::kPlaced, pod.before, pod.whole_before};
    return from(index + 1, next, cost);
  }
  if (!pod.keep_allowed) return Enumeration::kContinue;
  // The blocks are taken unchanged, so their order does not matter.
  std::map<std::string, Part> parts;
  Part whole;
  std::vector<Spot> spots;
  for (const Unit& unit : pod.units) {
    const Part& had =
        unit.container == nullptr ? pod.whole_before : pod.before.at(unit.container->name);
    Part& part = unit.container == nullptr ? whole : parts[unit.container->name];
    if (unit.cpus > 0) part.cpus = had.cpus;
    if (!unit.memory.empty()) part.memory = had.memory;
    spots.push_back(*unit.had);
  }
  if (!take_verbatim(node_, pod.spec().uid, parts, whole, next)) return Enumeration::kContinue;
  choice = pod.is_whole ? choice_of(judge_, pod, spots, next)
                        : PodChoice{Outcome::kPlaced, std::move(parts), {}};
  return from(index + 1, next, cost + cost_of_moves(pod, choice.after));
}

/// Lets the pod keep what it has against the rules, or evicts it.
Enumeration Search::stay(std::size_t index, const Board& board, const PlanCost& cost) {
  const PodCase& pod = problem_.pods[order_[index]];
  PodChoice& choice = choices_[order_[index]];
  Board next = board;
  if (!rules_.evict && take_verbatim(node_, pod.spec().uid, pod.before, pod.whole_before, next)) {
    choice = {Outcome::kVerbatim, {}, {}};
    for (const auto& [name, before] : pod.before) choice.after[name] = verbatim(node_, before);
    if (node_.gates().pod_level_resource_managers) {
      choice.whole_after = verbatim(node_, pod.whole_before);
    }
    if (from(index + 1, next, cost + PlanCost{0, 1, 0, 0, 0}) == Enumeration::kStop) {
      return Enumeration::kStop;
    }
  }
  choice = {Outcome::kEvicted, {}, {}};
  return from(index + 1, board, cost + PlanCost{1, 0, 0, 0, 0});
}

Enumeration Search::units_from(Placing& placing, const PlanCost& cost) {
  if (placing.spots.size() == placing.pod->units.size()) return placed(placing);
  const Unit& unit = placing.pod->units[placing.spots.size()];
  if (unit.had && available_cpus(placing, unit).contains_all(unit.had->cpus)) {
    if (try_spot(placing, cost, *unit.had) == Enumeration::kStop) return Enumeration::kStop;
  }
  if (unit.cpus == 0) return try_cpus(placing, cost, {});
  const CpuChoice choice = cpu_choice(node_.machine(), placing, unit, owners(placing.index + 1));
  if (choice.available.size() < unit.cpus) return Enumeration::kContinue;
  const VisitCpus visit = [&](const CpuSet& cpus) { return try_cpus(placing, cost, cpus); };
  if (pass_ == Pass::kAll) return for_each_choice_of_cpus(choice, visit);
  if (unit.had_cpus.empty()) {
    // Any CPUs cost the same, so those that the policy options prefer are tried first.
    const auto natural = natural_spot(judge_, placing, unit, choice);
    if (natural && try_spot(placing, cost, *natural) == Enumeration::kStop) {
      return Enumeration::kStop;
    }
  }
  return for_each_good_choice(choice, visit);
}

Enumeration Search::try_cpus(Placing& placing, const PlanCost& cost, const CpuSet& cpus) {
  const Unit& unit = placing.pod->units[placing.spots.size()];
  if (unit.memory.empty()) return try_spot(placing, cost, {cpus, {}});
  const Machine& machine = node_.machine();
  std::vector<NumaMask> masks = likely_memory(machine, unit, cpus);
  if (pass_ == Pass::kAll && !add_every_mask(machine, masks)) is_complete_ = false;
  for (const NumaMask mask : masks) {
    if (!has_memory(machine, placing, unit, mask)) continue;
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
  if (!allocate_memory(node_, pod, placing.spots, next)) return Enumeration::kContinue;
  if (pod.is_joint && !allows_together(placing)) return Enumeration::kContinue;
  PodChoice choice = choice_of(judge_, pod, placing.spots, next);
  const PlanCost cost = placing.cost + cost_of_moves(pod, choice.after);
  choices_[order_[placing.index]] = std::move(choice);
  return from(placing.index + 1, next, cost);
}

}  // namespace pinfold::planning
