#include "cpu_hierarchy.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pinfold::cpu {

CpuHierarchy::CpuHierarchy(const Machine& machine)
    : machine_(&machine),
      first_(static_cast<int>(machine.sockets().size()) >= machine.numa_with_cpus()
                 ? Level::kNuma
                 : Level::kSocket),
      second_(first_ == Level::kNuma ? Level::kSocket : Level::kNuma),
      all_first_(groups(first_).size()),
      second_in_first_(nest(first_, second_)),
      cores_in_second_(nest(second_, Level::kCore)),
      caches_in_numa_(nest(Level::kNuma, Level::kCache)) {
  std::iota(all_first_.begin(), all_first_.end(), 0);
}

const std::vector<Machine::Group>& CpuHierarchy::groups(Level level) const {
  switch (level) {
    case Level::kNuma:
      return machine_->numa_groups();
    case Level::kSocket:
      return machine_->sockets();
    case Level::kCache:
      return machine_->caches();
    case Level::kCore:
      break;
  }
  return machine_->cores();
}

std::int32_t CpuHierarchy::index_of(Level level, const Machine::CpuGroups& of_cpu) const {
  switch (level) {
    case Level::kNuma:
      return of_cpu.numa;
    case Level::kSocket:
      return of_cpu.socket;
    case Level::kCache:
      return of_cpu.cache;
    case Level::kCore:
      break;
  }
  return of_cpu.core;
}

CpuHierarchy::Nesting CpuHierarchy::nest(Level outer, Level inner) const {
  Nesting nesting(groups(outer).size());
  for (const Cpu& cpu : machine_->cpus()) {
    const Machine::CpuGroups& of_cpu = machine_->groups_of(cpu.id);
    nesting[static_cast<std::size_t>(index_of(outer, of_cpu))].push_back(index_of(inner, of_cpu));
  }
  for (auto& inside : nesting) {
    std::sort(inside.begin(), inside.end());
    inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  }
  return nesting;
}

void CpuHierarchy::append_sorted(GroupList& list, Level level,
                                 const std::vector<std::int32_t>& candidates, const CpuSet& parent,
                                 const CpuSet& free) const {
  const auto& all = groups(level);
  boost::container::small_vector<std::pair<std::size_t, std::int32_t>, 128> ranked;
  for (const std::int32_t index : candidates) {
    const CpuSet& cpus = all[static_cast<std::size_t>(index)].cpus;
    // Ranked by all free CPUs of the group, but listed only if one of them is in the parent.
    if (parent.intersects(cpus)) ranked.emplace_back(free.count_common(cpus), index);
  }
  std::sort(ranked.begin(), ranked.end());  // index order is id order
  for (const auto& [count, index] : ranked) list.push_back(index);
}

GroupList CpuHierarchy::sorted(Level level, const CpuSet& free) const {
  GroupList list;
  append_sorted(list, first_, all_first_, free, free);
  if (level == first_) return list;

  const auto descend = [&](Level outer, Level inner, const Nesting& nesting) {
    GroupList below;
    for (const std::int32_t index : list) {
      const auto& parent = groups(outer)[static_cast<std::size_t>(index)];
      append_sorted(below, inner, nesting[static_cast<std::size_t>(index)], free & parent.cpus,
                    free);
    }
    list = std::move(below);
  };
  if (level == Level::kCache && first_ == Level::kNuma) {
    descend(Level::kNuma, Level::kCache, caches_in_numa_);
    return list;
  }
  descend(first_, second_, second_in_first_);
  if (level == Level::kCore) descend(second_, Level::kCore, cores_in_second_);
  if (level == Level::kCache) descend(Level::kNuma, Level::kCache, caches_in_numa_);
  return list;
}

}  // namespace pinfold::cpu
