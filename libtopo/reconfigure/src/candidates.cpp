#include "candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "pinfold/types/numa_mask.hpp"

namespace pinfold::planning {
namespace {

/// On larger machines, pairs of NUMA nodes are not tried.
constexpr int kMaxNodesForPairs = 8;

constexpr int kOwn = -2;  // kinds of CPUs; other kinds are numbers of owners
constexpr int kNobodys = -1;

int kind_of(const CpuChoice& choice, CpuId cpu) {
  if (choice.own.contains(cpu)) return kOwn;
  return choice.owner[static_cast<std::size_t>(cpu.value)];
}

int sharing_of(const CpuChoice& choice, CpuId cpu) {
  return choice.sharing.empty() ? 0 : choice.sharing[static_cast<std::size_t>(cpu.value)];
}

/// The available CPUs of one core.
struct CoreCpus {
  CpuSet own;
  CpuSet shared;  ///< with other units of the pod
  CpuSet nobodys;
  CpuSet others;
  bool is_whole = false;  ///< all CPUs of the core are available
  bool is_near = false;   ///< on a NUMA node with own CPUs

  [[nodiscard]] CpuSet all() const { return own | shared | nobodys | others; }
};

std::vector<CoreCpus> cores_within(const CpuChoice& choice, const CpuSet& within) {
  std::vector<CoreCpus> cores;
  for (const Machine::Group& group : choice.machine->cores()) {
    const CpuSet available = group.cpus & within;
    if (available.empty()) continue;
    CoreCpus core;
    core.is_whole = available == group.cpus;
    core.is_near = choice.own.intersects(choice.machine->cpus_of_numa(group.numa));
    for (const CpuId cpu : available) {
      const int kind = kind_of(choice, cpu);
      CpuSet& nobodys = sharing_of(choice, cpu) != 0 ? core.shared : core.nobodys;
      (kind == kOwn ? core.own : kind == kNobodys ? nobodys : core.others).insert(cpu);
    }
    cores.push_back(std::move(core));
  }
  return cores;
}

void take_from(const CpuSet& cpus, std::size_t count, CpuSet& taken) {
  for (const CpuId cpu : cpus) {
    if (taken.size() >= count) return;
    taken.insert(cpu);
  }
}

/// Sorts the cores by a key; cores with equal keys keep their order.
template <class Key>
std::vector<const CoreCpus*> in_order(const std::vector<CoreCpus>& cores, const Key& key) {
  std::vector<const CoreCpus*> ordered;
  ordered.reserve(cores.size());
  for (const CoreCpus& core : cores) ordered.push_back(&core);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const CoreCpus* a, const CoreCpus* b) { return key(*a) < key(*b); });
  return ordered;
}

/// Picks CPUs core by core: cores without CPUs of others first, then whole ones, then those with
/// own CPUs.
CpuSet pick_by_core(const std::vector<CoreCpus>& all, std::size_t count) {
  const auto cores = in_order(all, [](const CoreCpus& core) {
    return std::tuple(!core.others.empty(), !core.is_whole, core.own.empty());
  });
  CpuSet taken;
  for (const CoreCpus* const core : cores) {
    const CpuSet cpus = core->all();
    if (cpus.size() <= count - taken.size()) taken |= cpus;
  }
  for (const CoreCpus* const core : cores) {
    if (taken.size() == count) break;
    take_from(core->own, count, taken);
    take_from(core->all(), count, taken);
  }
  return taken;
}

/// Picks as many own CPUs as there are, then shared ones, then CPUs that no unit had, whole cores
/// first.
CpuSet pick_own_first(const CpuChoice& choice, const std::vector<CoreCpus>& cores) {
  CpuSet taken;
  for (const CoreCpus& core : cores) take_from(core.own, choice.count, taken);
  for (const CoreCpus& core : cores) take_from(core.shared, choice.count, taken);
  const auto ordered = in_order(cores, [](const CoreCpus& core) {
    return std::tuple(!core.is_near, !core.is_whole || !core.others.empty());
  });
  for (const CoreCpus* const core : ordered) take_from(core->nobodys, choice.count, taken);
  if (taken.size() == choice.count) return taken;
  // Then CPUs of few other units, so that few have to move.
  std::map<int, CpuSet> by_owner;
  for (const CoreCpus& core : cores) {
    for (const CpuId cpu : core.others) by_owner[kind_of(choice, cpu)].insert(cpu);
  }
  std::vector<CpuSet> others;
  others.reserve(by_owner.size());
  for (const auto& [owner, cpus] : by_owner) others.push_back(cpus);
  std::stable_sort(others.begin(), others.end(),
                   [](const CpuSet& a, const CpuSet& b) { return a.size() > b.size(); });
  for (const CpuSet& cpus : others) take_from(cpus, choice.count, taken);
  return taken;
}

/// Returns how many other units lose a CPU, and how many CPUs are new.
std::pair<std::size_t, std::size_t> badness(const CpuChoice& choice, const CpuSet& cpus) {
  std::set<int> others;
  for (const CpuId cpu : cpus) {
    const int kind = kind_of(choice, cpu);
    if (kind >= 0) others.insert(kind);
  }
  return {others.size(), (cpus - choice.own).size()};
}

/// CPUs of a core are equal if this is equal; see kind_of() and CpuChoice::sharing.
using CpuKind = std::pair<int, int>;
using NumberByKind = std::map<CpuKind, std::size_t>;

/// Cores are equal if this is equal: their location, and their available CPUs by kind.
struct CoreSignature {
  std::int32_t numa = -1;
  std::int32_t socket = -1;
  std::int32_t cache = -1;
  std::size_t size = 0;
  NumberByKind cpus;  ///< number by kind

  friend auto operator<=>(const CoreSignature&, const CoreSignature&) = default;
};

using CpusByKind = std::map<CpuKind, CpuSet>;

/// Equal cores, and the numbers of CPUs by kind that can be taken from one of them.
struct EqualCores {
  std::vector<CpusByKind> cores;
  std::vector<NumberByKind> patterns;
  std::size_t per_core = 0;
};

/// Returns all numbers by kind up to those of the core, most CPUs first.
std::vector<NumberByKind> patterns_of(const NumberByKind& cpus) {
  std::vector<NumberByKind> patterns = {{}};
  for (const auto& [kind, count] : cpus) {
    std::vector<NumberByKind> longer;
    for (std::size_t taken = count + 1; taken-- > 0;) {
      for (const auto& pattern : patterns) {
        auto next = pattern;
        next[kind] = taken;
        longer.push_back(std::move(next));
      }
    }
    patterns = std::move(longer);
  }
  const auto total = [](const NumberByKind& pattern) {
    std::size_t sum = 0;
    for (const auto& [kind, count] : pattern) sum += count;
    return sum;
  };
  std::stable_sort(patterns.begin(), patterns.end(),
                   [&](const auto& a, const auto& b) { return total(a) > total(b); });
  return patterns;
}

std::map<CoreSignature, std::vector<CpusByKind>> cores_by_kind(const CpuChoice& choice) {
  std::map<CoreSignature, std::vector<CpusByKind>> by_kind;
  for (const Machine::Group& group : choice.machine->cores()) {
    const CpuSet available = group.cpus & choice.available;
    if (available.empty()) continue;
    const Machine::CpuGroups& groups = choice.machine->groups_of(available.first());
    CoreSignature kind{groups.numa, groups.socket, groups.cache, group.cpus.size(), {}};
    CpusByKind cpus;
    for (const CpuId cpu : available) {
      const CpuKind of_cpu{kind_of(choice, cpu), sharing_of(choice, cpu)};
      ++kind.cpus[of_cpu];
      cpus[of_cpu].insert(cpu);
    }
    by_kind[kind].push_back(std::move(cpus));
  }
  return by_kind;
}

std::vector<EqualCores> equal_cores(const CpuChoice& choice) {
  auto by_kind = cores_by_kind(choice);
  std::vector<EqualCores> all;
  for (auto& [kind, cores] : by_kind) {
    EqualCores equal{std::move(cores), patterns_of(kind.cpus), 0};
    for (const auto& [of_cpu, count] : kind.cpus) equal.per_core += count;
    all.push_back(std::move(equal));
  }
  return all;
}

/// Enumerates choices core by core. Equal cores use patterns in list order, so that no two choices
/// differ only by exchanging equal cores.
class ChoicesOfCpus {
 public:
  ChoicesOfCpus(const CpuChoice& choice, const VisitCpus& visit)
      : groups_(equal_cores(choice)), visit_(visit), count_(choice.count) {
    rest_.assign(groups_.size() + 1, 0);
    for (std::size_t i = groups_.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1] + groups_[i].per_core * groups_[i].cores.size();
    }
  }

  Enumeration run() { return from(0, 0, 0); }

 private:
  Enumeration from(std::size_t group, std::size_t core, std::size_t first_pattern) {
    if (taken_.size() == count_) return visit_(taken_);
    if (group == groups_.size()) return Enumeration::kContinue;
    const EqualCores& equal = groups_[group];
    if (core == equal.cores.size()) return from(group + 1, 0, 0);
    const std::size_t left = rest_[group] - core * equal.per_core;
    if (taken_.size() + left < count_) return Enumeration::kContinue;
    const CpuSet before = taken_;
    for (std::size_t i = first_pattern; i < equal.patterns.size(); ++i) {
      for (const auto& [kind, number] : equal.patterns[i]) {
        take_from(equal.cores[core].at(kind), taken_.size() + number, taken_);
      }
      const bool fits = taken_.size() <= count_;
      if (fits && from(group, core + 1, i) == Enumeration::kStop) return Enumeration::kStop;
      taken_ = before;
    }
    return Enumeration::kContinue;
  }

  std::vector<EqualCores> groups_;
  std::vector<std::size_t> rest_;  ///< CPUs of this group and the later ones
  const VisitCpus& visit_;
  std::size_t count_;
  CpuSet taken_;
};

}  // namespace

Enumeration for_each_good_choice(const CpuChoice& choice, const VisitCpus& visit) {
  const Machine& machine = *choice.machine;
  const auto visit_within = [&](const std::vector<CpuSet>& places) {
    std::vector<CpuSet> found;
    for (const CpuSet& place : places) {
      const CpuSet within = choice.available & place;
      if (within.size() < choice.count) continue;
      const auto cores = cores_within(choice, within);
      found.push_back(pick_own_first(choice, cores));
      found.push_back(pick_by_core(cores, choice.count));
      if (found.back() == found[found.size() - 2]) found.pop_back();
    }
    std::stable_sort(found.begin(), found.end(), [&](const CpuSet& a, const CpuSet& b) {
      return badness(choice, a) < badness(choice, b);
    });
    for (const CpuSet& cpus : found) {
      if (visit(cpus) == Enumeration::kStop) return Enumeration::kStop;
    }
    return Enumeration::kContinue;
  };
  std::vector<CpuSet> places;
  const auto add = [&](NumaMask mask) { places.push_back(machine.cpus_of_numa(mask)); };
  for_each_mask_of_width(machine.numa_count(), 1, add);
  if (machine.numa_count() > 1) places.push_back(machine.all_cpus());
  if (visit_within(places) == Enumeration::kStop) return Enumeration::kStop;
  places.clear();
  if (machine.numa_count() > kMaxNodesForPairs) return Enumeration::kContinue;
  for_each_mask_of_width(machine.numa_count(), 2, add);
  return visit_within(places);
}

void add_to_key(const CpuChoice& choice, std::string& key) {
  for (const auto& [kind, cores] : cores_by_kind(choice)) {
    key +=
        fmt::format("/{},{},{},{}x{}", kind.numa, kind.socket, kind.cache, kind.size, cores.size());
    for (const auto& [of_cpu, count] : kind.cpus) {
      key += fmt::format(":{},{},{}", of_cpu.first, of_cpu.second, count);
    }
  }
}

Enumeration for_each_choice_of_cpus(const CpuChoice& choice, const VisitCpus& visit) {
  return ChoicesOfCpus(choice, visit).run();
}

}  // namespace pinfold::planning
