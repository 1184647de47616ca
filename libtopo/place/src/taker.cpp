#include "taker.hpp"

#include <algorithm>
#include <utility>

namespace pinfold::place {
namespace {

/// Returns the number of free CPUs at which a group counts as whole. For sockets and cores this is
/// the average over the machine, as in the kubelet; on uneven machines a group may have another
/// size.
int whole_size(const CpuTree& tree, Level level, const CpuGroup& group) {
  return level == Level::kSocket || level == Level::kCore ? tree.average(level) : group.size;
}

/// Returns how many CPUs of the set each core has.
std::span<const std::int32_t> count_by_core(const CpuTree& tree, CpusView cpus, Arena& arena) {
  const auto counts = arena.make<std::int32_t>(tree.groups(Level::kCore).size());
  for_each_cpu(cpus, [&](std::int32_t cpu) {
    ++counts[static_cast<std::size_t>(tree.group_of(Level::kCore, cpu))];
  });
  return counts;
}

}  // namespace

void Taker::take(CpusView cpus) {
  add(result_, cpus);
  remove(free_, cpus);
  needed_ -= count(cpus);
}

void Taker::take(const CpuGroup& group) {
  add(result_, group);
  remove(free_, group);
  needed_ -= group.size;
}

void Taker::note(TakeStep::Kind kind, Level level, const CpuGroup& group) const {
  if (steps_ == nullptr) return;
  const Arena::Scope scope(*arena_);
  const Cpus cpus = arena_->make<Word>(free_.size());
  add(cpus, group);
  note(kind, level, group.id, cpus);
}

void Taker::note(TakeStep::Kind kind, Level level, std::int32_t id, CpusView cpus) const {
  if (steps_ != nullptr) steps_->push_back({kind, level, id, {cpus.begin(), cpus.end()}});
}

void Taker::take_whole(Level level) {
  if (keeps_) return take_rest_of_groups(level);
  const CpuTree& tree = *rules_->tree;
  if (needed_ < tree.smallest(level)) return;
  const Quirks& quirks = rules_->quirks;
  if (level == Level::kCore && !quirks.spanning_group_taken_twice &&
      !quirks.large_group_taken_with_cpus_in_use) {
    take_whole_cores();
    return;
  }
  const Arena::Scope scope(*arena_);
  // QUIRK: a group that spans two groups of the level above is listed twice, and the
  // kubelet checks it against the CPUs that were free at the start.
  const CpusView seen_as_free =
      quirks.spanning_group_taken_twice ? arena_->copy(CpusView(free_)) : free_;
  const Cpus cores = arena_->make<Word>(free_.size());
  for (const std::int32_t index : tree.sorted(level, free_, *arena_)) {
    if (satisfied()) break;
    const CpuGroup& group = tree.group(level, index);
    const int free = count_common(seen_as_free, group);
    if (free != whole_size(tree, level, group) || needed_ < group.size) continue;
    // QUIRK: the kubelet takes a larger-than-average group with an average number of
    // free CPUs.
    if (free != group.size && !quirks.large_group_taken_with_cpus_in_use) continue;
    take(group);
    if (level == Level::kCore) {
      add(cores, group);  // one step for all of them
    } else {
      note(TakeStep::Kind::kWhole, level, group);
    }
  }
  if (!is_empty(cores)) note(TakeStep::Kind::kWholeCores, level, 0, cores);
}

void Taker::take_rest_of_groups(Level level, Groups which) {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  const Cpus rest = arena_->make<Word>(free_.size());
  for (const std::int32_t index : sorted(level)) {
    const CpuGroup& group = tree.group(level, index);
    const int free = count_common(free_, group);
    const int kept = count_common(result_, group);
    if (free == 0 || free > needed_ || free + kept != group.size) continue;
    if (which == Groups::kInPart && kept == 0) continue;
    std::fill(rest.begin(), rest.end(), 0);
    add(rest, group);
    keep_only(rest, free_);
    take(rest);
    note(level == Level::kCore ? TakeStep::Kind::kWholeCores : TakeStep::Kind::kWhole, level,
         group.id, rest);
  }
}

void Taker::take_rest_of_cores(const CpuGroup& cache) {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  const Cpus rest = arena_->make<Word>(free_.size());
  for (const CpuGroup& core : tree.groups(Level::kCore)) {
    const int free = count_common(free_, core);
    const bool is_near = intersects(free_, core, cache) && intersects(result_, core, cache);
    if (!is_near || free + count_common(result_, core) != core.size) continue;
    if (free > needed_) break;
    std::fill(rest.begin(), rest.end(), 0);
    add(rest, core);
    keep_only(rest, free_);
    take(rest);
    note(TakeStep::Kind::kWholeCores, Level::kCore, core.id, rest);
  }
}

// Without the quirks only cores of the average size with all their CPUs free are taken, so their
// order is that of their ids, and those after the last one need no look.
void Taker::take_whole_cores() {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  const int size = tree.average(Level::kCore);
  const Cpus cores = arena_->make<Word>(free_.size());
  for (const std::int32_t parent : tree.sorted(tree.second(), free_, *arena_)) {
    for (const std::int32_t index : tree.cores_in_second(parent)) {
      if (needed_ < size) break;
      const CpuGroup& core = tree.group(Level::kCore, index);
      if (core.size != size || count_common(free_, core) != size) continue;
      take(core);
      if (steps_ != nullptr) add(cores, core);
    }
  }
  if (!is_empty(cores)) note(TakeStep::Kind::kWholeCores, Level::kCore, 0, cores);
}

void Taker::take_part_of_cache(const CpuGroup& cache) {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  const int per_core = std::max(tree.average(Level::kCore), 1);
  if (keeps_ && per_core > 1) take_rest_of_cores(cache);
  if (satisfied()) return;
  const Cpus candidates = arena_->make<Word>(free_.size());
  add(candidates, cache);
  keep_only(candidates, free_);
  const auto by_core = count_by_core(tree, candidates, *arena_);
  const Cpus part = arena_->make<Word>(free_.size());
  int cores_needed = (needed_ + per_core - 1) / per_core;
  for (std::size_t core = 0; core < by_core.size() && cores_needed > 0; ++core) {
    if (by_core[core] == 0) continue;
    add(part, tree.groups(Level::kCore)[core]);
    --cores_needed;
  }
  keep_only(part, free_);
  int size = count(part);
  if (needed_ % 2 != 0 && per_core > 1 && size > needed_) {
    erase(part, last(part));
    --size;
  }
  if (size != needed_) return;
  take(part);
  note(TakeStep::Kind::kPartOfCache, Level::kCache, cache.id, part);
}

void Taker::take_by_cache() {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  if (keeps_) take_rest_of_groups(Level::kCache);
  for (const std::int32_t index : sorted(Level::kCache)) {
    if (!keeps_ && needed_ >= tree.average(Level::kCache)) take_whole(Level::kCache);
    if (satisfied()) return;
    take_part_of_cache(tree.group(Level::kCache, index));
    if (satisfied()) return;
  }
}

std::span<const std::int32_t> Taker::count_by_cache(Part part) const {
  const CpuTree& tree = *rules_->tree;
  const auto counts = arena_->make<std::int32_t>(tree.groups(Level::kCache).size());
  const auto cache_of = [&](std::int32_t cpu) -> std::int32_t& {
    return counts[static_cast<std::size_t>(tree.group_of(Level::kCache, cpu))];
  };
  if (part == Part::kCpus) {
    for_each_cpu(free_, [&](std::int32_t cpu) { ++cache_of(cpu); });
    return counts;
  }
  for (const CpuGroup& core : tree.groups(Level::kCore)) {
    if (core.size > needed_ || count_common(free_, core) != core.size) continue;
    cache_of(first_common(free_, core)) += core.size;
  }
  return counts;
}

// Greedy: caches that become whole, then those that it has anyway if they suffice, then others that
// become whole; at last the smallest one that has enough, or the largest.
const CpuGroup* Taker::next_cache(Part part) const {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  const std::span<const CpuGroup> caches = tree.groups(Level::kCache);
  const auto given = count_by_cache(part);
  const auto is_near = [&](const CpuGroup& cache) {
    const std::int32_t cpu = first_common(free_, cache);
    return intersects(result_, tree.group(Level::kNuma, tree.group_of(Level::kNuma, cpu)));
  };
  const int per_core = part == Part::kCpus ? 1 : std::max(tree.average(Level::kCore), 1);
  const int rounded = needed_ - needed_ % per_core;
  bool some_near = false;
  int of_kept = 0;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    if (given[i] == 0) continue;
    some_near = some_near || is_near(caches[i]);
    if (intersects(result_, caches[i])) of_kept += given[i];
  }
  const auto rank = [&](std::size_t i) {
    const CpuGroup& cache = caches[i];
    const int free = count_common(free_, cache);
    const int kept = count_common(result_, cache);
    const bool becomes_whole = given[i] == free && free <= needed_ && free + kept == cache.size;
    if (kept > 0 && becomes_whole) return std::pair(0, free);
    if (kept > 0 && of_kept >= rounded) return std::pair(1, free);
    if (becomes_whole) return std::pair(2, free);
    if (kept > 0) return std::pair(3, free);
    return given[i] >= rounded && free >= needed_ ? std::pair(4, free) : std::pair(5, -given[i]);
  };
  const CpuGroup* best = nullptr;
  std::pair<int, int> best_rank;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    if (given[i] == 0 || (some_near && !is_near(caches[i]))) continue;
    const auto ranked = rank(i);
    if (best != nullptr && best_rank <= ranked) continue;
    best = &caches[i];
    best_rank = ranked;
  }
  return best;
}

void Taker::take_from_cache(const CpuGroup& cache, Part part) {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  const Cpus taken = arena_->make<Word>(free_.size());
  for (const std::int32_t index : sorted(Level::kCore)) {
    const CpuGroup& core = tree.group(Level::kCore, index);
    if (satisfied() || !intersects(free_, core, cache)) continue;
    if (part == Part::kWholeCores) {
      if (core.size > needed_ || count_common(free_, core) != core.size) continue;
      add(taken, core);
      take(core);
      continue;
    }
    const Arena::Scope per_core(*arena_);
    const Cpus candidates = arena_->make<Word>(free_.size());
    add(candidates, core);
    keep_only(candidates, free_);
    for_each_cpu_while(candidates, [&](std::int32_t cpu) {
      insert(taken, cpu);
      insert(result_, cpu);
      erase(free_, cpu);
      --needed_;
      return !satisfied();
    });
  }
  note(part == Part::kWholeCores ? TakeStep::Kind::kWholeCores : TakeStep::Kind::kSingle,
       Level::kCore, 0, taken);
}

void Taker::take_near_caches() {
  take_rest_of_groups(Level::kCore, Groups::kInPart);
  for (const Part part : {Part::kWholeCores, Part::kCpus}) {
    while (!satisfied()) {
      const CpuGroup* const cache = next_cache(part);
      if (cache == nullptr) break;
      take_from_cache(*cache, part);
    }
  }
}

void Taker::take_singly(Level level) {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  const Cpus taken = arena_->make<Word>(free_.size());
  const Cpus candidates = arena_->make<Word>(free_.size());
  for (const std::int32_t index : sorted(level)) {
    if (satisfied()) break;
    std::fill(candidates.begin(), candidates.end(), 0);
    add(candidates, tree.group(level, index));
    keep_only(candidates, free_);
    // QUIRK: a group that spans two groups of the level above is listed twice, and the
    // kubelet counts its CPUs each time.
    if (!rules_->quirks.spanning_group_taken_twice) remove(candidates, taken);
    for_each_cpu_while(candidates, [&](std::int32_t cpu) {
      if (satisfied()) return false;
      insert(taken, cpu);
      --needed_;
      return true;
    });
  }
  remove(free_, taken);
  add(result_, taken);
  if (!is_empty(taken)) note(TakeStep::Kind::kSingle, level, 0, taken);
}

void Taker::take_across_cores() {
  const Arena::Scope scope(*arena_);
  const CpuTree& tree = *rules_->tree;
  const std::span<const CpuGroup> cores = tree.groups(Level::kCore);
  const Cpus taken = arena_->make<Word>(free_.size());
  const Cpus left = arena_->make<Word>(free_.size());
  for (const std::int32_t socket : sorted(Level::kSocket)) {
    std::fill(left.begin(), left.end(), 0);
    add(left, tree.group(Level::kSocket, socket));
    keep_only(left, free_);
    remove(left, taken);
    const Arena::Scope per_socket(*arena_);
    // Cores with fewer free CPUs first, then by id. Their order stays while their CPUs are taken.
    const auto by_core = count_by_core(tree, left, *arena_);
    const int most = by_core.empty() ? 0 : *std::max_element(by_core.begin(), by_core.end());
    while (!satisfied() && !is_empty(left)) {
      for (int free = 1; free <= most && !satisfied(); ++free) {
        for (std::size_t core = 0; core < cores.size() && !satisfied(); ++core) {
          if (by_core[core] != free) continue;
          const std::int32_t cpu = first_common(left, cores[core]);
          if (cpu < 0) continue;
          insert(taken, cpu);
          erase(left, cpu);
          --needed_;
        }
      }
    }
  }
  remove(free_, taken);
  add(result_, taken);
  if (!is_empty(taken)) note(TakeStep::Kind::kSingle, Level::kSocket, 0, taken);
}

Taken take_packed(const TakeRules& rules, CpusView available, int count, Arena& arena,
                  TakeSteps* steps, CpusView kept) {
  Taker taker(rules, available, count, arena, steps, kept);
  if (taker.satisfied()) return taker.result();
  if (taker.needed() > place::count(taker.free())) {
    const int free = place::count(available);
    return tl::unexpected(
        CpuFailure{.kind = CpuFailure::Kind::kNotEnough, .requested = count, .available = free});
  }
  taker.take_whole(rules.tree->first());
  if (!taker.satisfied()) taker.take_whole(rules.tree->second());
  if (!taker.satisfied() && rules.by_uncore_cache) taker.take_by_cache();
  // QUIRK: the kubelet ignores caches without their option.
  if (!taker.satisfied() && !kept.empty() && !rules.across_cores && !rules.by_uncore_cache &&
      !rules.quirks.resize_splits_caches) {
    taker.take_near_caches();
  }
  if (!taker.satisfied() && !rules.across_cores) taker.take_whole(Level::kCore);
  if (!taker.satisfied()) {
    // QUIRK: the kubelet takes CPUs by number, so neighbours can be threads of one
    // core.
    if (rules.across_cores && !rules.quirks.cores_spread_by_cpu_number) {
      taker.take_across_cores();
    } else {
      taker.take_singly(rules.across_cores ? Level::kSocket : Level::kCore);
    }
  }
  if (!taker.satisfied()) return tl::unexpected(CpuFailure{.requested = count});
  return taker.result();
}

}  // namespace pinfold::place
