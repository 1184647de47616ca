#include "accumulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pinfold::cpu {
namespace {

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kNuma:
      return "NUMA node";
    case Level::kSocket:
      return "socket";
    case Level::kCache:
      return "cache";
    case Level::kCore:
      break;
  }
  return "core";
}

/// Returns the number of free CPUs at which a group counts as whole. For sockets and cores this is
/// the average over the machine, as in the kubelet; on uneven machines a group may have another
/// size.
int whole_size(const Machine& machine, Level level, const Machine::Group& group) {
  switch (level) {
    case Level::kSocket:
      return machine.cpus_per_socket();
    case Level::kCore:
      return machine.cpus_per_core();
    case Level::kNuma:
    case Level::kCache:
      break;
  }
  return static_cast<int>(group.cpus.size());
}

/// Returns the cores of the CPUs, by ascending number of their CPUs in the set, then by id.
GroupList cores_of(const Machine& machine, const CpuSet& cpus) {
  std::map<std::int32_t, int> counts;
  for (const CpuId cpu : cpus) ++counts[machine.groups_of(cpu).core];
  GroupList cores;
  for (const auto& [core, count] : counts) cores.push_back(core);
  std::stable_sort(cores.begin(), cores.end(),
                   [&](std::int32_t a, std::int32_t b) { return counts.at(a) < counts.at(b); });
  return cores;
}

}  // namespace

void Accumulator::take(const CpuSet& cpus) {
  result_ |= cpus;
  free_ -= cpus;
  needed_ -= static_cast<int>(cpus.size());
}

void Accumulator::note(std::string_view what, const CpuSet& cpus) const {
  if (steps_ != nullptr) steps_->push_back(fmt::format("{} (CPUs {})", what, cpus.to_string()));
}

void Accumulator::take_whole(Level level) {
  const CpuHierarchy& hierarchy = *rules_->hierarchy;
  const auto& groups = hierarchy.groups(level);
  // QUIRK: a group that spans two groups of the level above is listed twice, and the
  // kubelet checks it against the CPUs that were free at the start.
  const CpuSet free_before = free_;
  const CpuSet& seen_as_free = rules_->quirks.spanning_group_taken_twice ? free_before : free_;
  CpuSet cores;
  for (const std::int32_t index : hierarchy.sorted(level, free_before)) {
    if (satisfied()) break;
    const Machine::Group& group = groups[static_cast<std::size_t>(index)];
    const auto size = static_cast<int>(group.cpus.size());
    const auto free = static_cast<int>(seen_as_free.count_common(group.cpus));
    if (free != whole_size(hierarchy.machine(), level, group) || needed_ < size) continue;
    // QUIRK: the kubelet takes a larger-than-average group with an average number of
    // free CPUs.
    if (free != size && !rules_->quirks.large_group_taken_with_cpus_in_use) continue;
    take(group.cpus);
    if (level == Level::kCore) {
      cores |= group.cpus;  // one step for all cores
    } else if (steps_ != nullptr) {
      note(fmt::format("whole {} {}", name_of(level), group.id), group.cpus);
    }
  }
  if (!cores.empty()) note("whole cores", cores);
}

void Accumulator::take_part_of_cache(const Machine::Group& cache) {
  const Machine& machine = rules_->hierarchy->machine();
  const int per_core = std::max(machine.cpus_per_core(), 1);
  const auto cores_needed = static_cast<std::size_t>((needed_ + per_core - 1) / per_core);
  const CpuSet candidates = free_ & cache.cpus;
  GroupList cores;
  for (const CpuId cpu : candidates) cores.push_back(machine.groups_of(cpu).core);
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  if (cores.size() > cores_needed) cores.resize(cores_needed);
  CpuSet part;
  for (const std::int32_t core : cores) {
    part |= machine.cores()[static_cast<std::size_t>(core)].cpus;
  }
  part &= free_;
  if (needed_ % 2 != 0 && per_core > 1 && static_cast<int>(part.size()) > needed_) {
    part.erase(part.last());
  }
  if (static_cast<int>(part.size()) != needed_) return;
  take(part);
  if (steps_ != nullptr) note(fmt::format("a part of cache {}", cache.id), part);
}

void Accumulator::take_by_cache() {
  const CpuHierarchy& hierarchy = *rules_->hierarchy;
  for (const std::int32_t index : hierarchy.sorted(Level::kCache, free_)) {
    if (needed_ >= hierarchy.machine().cpus_per_cache()) take_whole(Level::kCache);
    if (satisfied()) return;
    take_part_of_cache(hierarchy.machine().caches()[static_cast<std::size_t>(index)]);
    if (satisfied()) return;
  }
}

void Accumulator::take_singly(Level level) {
  const CpuHierarchy& hierarchy = *rules_->hierarchy;
  const auto& groups = hierarchy.groups(level);
  CpuSet taken;
  for (const std::int32_t index : hierarchy.sorted(level, free_)) {
    CpuSet candidates = free_ & groups[static_cast<std::size_t>(index)].cpus;
    // QUIRK: a group that spans two groups of the level above is listed twice, and the
    // kubelet counts its CPUs each time.
    if (!rules_->quirks.spanning_group_taken_twice) candidates -= taken;
    for (const CpuId cpu : candidates) {
      if (satisfied()) break;
      taken.insert(cpu);
      --needed_;
    }
  }
  free_ -= taken;
  result_ |= taken;
  if (!taken.empty()) note("single CPUs", taken);
}

void Accumulator::take_across_cores() {
  const CpuHierarchy& hierarchy = *rules_->hierarchy;
  const Machine& machine = hierarchy.machine();
  CpuSet taken;
  for (const std::int32_t socket : hierarchy.sorted(Level::kSocket, free_)) {
    CpuSet left = (free_ & machine.sockets()[static_cast<std::size_t>(socket)].cpus) - taken;
    const GroupList cores = cores_of(machine, left);
    while (!satisfied() && !left.empty()) {
      for (const std::int32_t core : cores) {
        const CpuSet of_core = left & machine.cores()[static_cast<std::size_t>(core)].cpus;
        if (satisfied()) break;
        if (of_core.empty()) continue;
        taken.insert(of_core.first());
        left.erase(of_core.first());
        --needed_;
      }
    }
  }
  free_ -= taken;
  result_ |= taken;
  if (!taken.empty()) note("single CPUs", taken);
}

std::string not_enough(int count, const CpuSet& available) {
  return fmt::format("not enough cpus available to satisfy request: requested={}, available={}",
                     count, available.size());
}

Taken take_packed(const TakeRules& rules, const CpuSet& available, int count, Steps* steps) {
  Accumulator accumulator(rules, available, count, steps);
  if (!accumulator.satisfied() && accumulator.has_too_few_free()) {
    return tl::unexpected(not_enough(count, available));
  }
  const CpuHierarchy& hierarchy = *rules.hierarchy;
  if (!accumulator.satisfied()) accumulator.take_whole(hierarchy.first());
  if (!accumulator.satisfied()) accumulator.take_whole(hierarchy.second());
  if (!accumulator.satisfied() && rules.by_uncore_cache) accumulator.take_by_cache();
  if (!accumulator.satisfied() && !rules.across_cores) accumulator.take_whole(Level::kCore);
  if (!accumulator.satisfied()) {
    // QUIRK: the kubelet takes CPUs by number, so neighbours can be threads of one
    // core.
    if (rules.across_cores && !rules.quirks.cores_spread_by_cpu_number) {
      accumulator.take_across_cores();
    } else {
      accumulator.take_singly(rules.across_cores ? Level::kSocket : Level::kCore);
    }
  }
  if (!accumulator.satisfied()) return tl::unexpected(std::string("failed to allocate cpus"));
  return accumulator.result();
}

}  // namespace pinfold::cpu
