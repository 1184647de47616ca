#include "pinfold/place/cpu_tree.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace pinfold::place {
namespace {

/// Appends indices to a list of fixed capacity.
class List {
 public:
  List(std::size_t capacity, Arena& arena) : items_(arena.make_raw<std::int32_t>(capacity)) {}

  void push_back(std::int32_t item) { items_[size_++] = item; }
  [[nodiscard]] std::span<const std::int32_t> items() const { return items_.first(size_); }

 private:
  std::span<std::int32_t> items_;
  std::size_t size_ = 0;
};

/// Appends the candidates in ascending order of their counts, then in the given order; skips those
/// with 0. There are few different counts, so each gets a pass. Domain: positive.
void append_by_count(List& list, std::span<const std::int32_t> candidates,
                     std::span<const std::int32_t> counts, std::int32_t least) {
  constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  for (std::int32_t next = kNone; least != kNone; least = next, next = kNone) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == least) list.push_back(candidates[i]);
      if (counts[i] > least) next = std::min(next, counts[i]);
    }
  }
}

}  // namespace

std::string_view to_string(Level level) {
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

CpuTree::CpuTree(std::span<const CpuPlace> cpus, int numa_count)
    : cpu_count_(static_cast<int>(cpus.size())),
      all_(static_cast<std::size_t>(cpus.back().cpu / kBits) + 1),
      of_cpu_(static_cast<std::size_t>(cpus.back().cpu) + 1) {
  for (const CpuPlace& cpu : cpus) insert(all_, cpu.cpu);
  auto& nodes = groups_[static_cast<std::size_t>(Level::kNuma)];
  for (int position = 0; position < numa_count; ++position) nodes.emplace_back().id = position;
  make_groups(Level::kNuma, cpus, &CpuPlace::numa);
  make_groups(Level::kSocket, cpus, &CpuPlace::socket);
  make_groups(Level::kCache, cpus, &CpuPlace::cache);
  make_groups(Level::kCore, cpus, &CpuPlace::core);

  for (const CpuGroup& node : nodes) {
    if (node.size > 0) sizes_of_numa_.push_back(node.size);
  }
  std::sort(sizes_of_numa_.begin(), sizes_of_numa_.end(), std::greater<>());
  if (static_cast<int>(groups(Level::kSocket).size()) < numa_with_cpus()) {
    std::swap(first_, second_);
  }
  for (std::size_t level = 0; level < kLevels; ++level) {
    smallest_[level] = cpu_count_;
    for (const CpuGroup& group : groups_[level]) {
      if (group.size > 0) smallest_[level] = std::min(smallest_[level], group.size);
    }
  }
  all_first_.resize(groups(first_).size());
  std::iota(all_first_.begin(), all_first_.end(), 0);
  second_in_first_ = nest(first_, second_);
  cores_in_second_ = nest(second_, Level::kCore);
  caches_in_numa_ = nest(Level::kNuma, Level::kCache);
  longest_list_ = std::max(
      {longest({}), longest({&second_in_first_}), longest({&second_in_first_, &cores_in_second_}),
       first_ == Level::kNuma ? longest({&caches_in_numa_})
                              : longest({&second_in_first_, &caches_in_numa_})});
}

void CpuTree::make_groups(Level level, std::span<const CpuPlace> cpus,
                          std::int32_t CpuPlace::*id_of) {
  const auto slot = static_cast<std::size_t>(level);
  std::vector<CpuGroup>& groups = groups_[slot];
  if (groups.empty()) {
    std::vector<std::int32_t> ids;
    for (const CpuPlace& cpu : cpus) ids.push_back(cpu.*id_of);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const std::int32_t id : ids) groups.emplace_back().id = id;
  }
  std::vector<std::vector<Word>> words(groups.size(), std::vector<Word>(all_.size()));
  for (const CpuPlace& cpu : cpus) {
    const auto group =
        std::lower_bound(groups.begin(), groups.end(), cpu.*id_of,
                         [](const CpuGroup& g, std::int32_t id) { return g.id < id; });
    const auto index = static_cast<std::size_t>(group - groups.begin());
    of_cpu_[static_cast<std::size_t>(cpu.cpu)][slot] = static_cast<std::int32_t>(index);
    ++group->size;
    insert(words[index], cpu.cpu);
  }
  std::vector<Word>& rest = rest_of_groups_[slot];
  std::vector<std::size_t> begins;
  for (std::size_t index = 0; index < groups.size(); ++index) {
    begins.push_back(rest.size());
    CpuGroup& group = groups[index];
    if (group.size == 0) continue;
    std::size_t end = all_.size();
    while (words[index][group.place] == 0) ++group.place;
    while (words[index][end - 1] == 0) --end;
    group.first = words[index][group.place];
    for (std::size_t i = group.place + 1; i < end; ++i) rest.push_back(words[index][i]);
  }
  begins.push_back(rest.size());
  for (std::size_t index = 0; index < groups.size(); ++index) {
    groups[index].rest = CpusView(rest).subspan(begins[index], begins[index + 1] - begins[index]);
  }
}

CpuTree::Nesting CpuTree::nest(Level outer, Level inner) const {
  Nesting nesting(groups(outer).size());
  for_each_cpu(all_, [&](std::int32_t cpu) {
    nesting[static_cast<std::size_t>(group_of(outer, cpu))].push_back(group_of(inner, cpu));
  });
  for (auto& inside : nesting) {
    std::sort(inside.begin(), inside.end());
    inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  }
  return nesting;
}

std::size_t CpuTree::longest(const std::vector<const Nesting*>& path) const {
  std::vector<std::int32_t> list = all_first_;
  for (const Nesting* nesting : path) {
    std::vector<std::int32_t> below;
    for (const std::int32_t index : list) {
      const auto& inside = (*nesting)[static_cast<std::size_t>(index)];
      below.insert(below.end(), inside.begin(), inside.end());
    }
    list = std::move(below);
  }
  return list.size();
}

std::span<const std::int32_t> CpuTree::sorted(Level level, CpusView free, Arena& arena,
                                              CpusView kept) const {
  List list(longest_list_, arena);
  const std::span<std::int32_t> counts = arena.make_raw<std::int32_t>(longest_list_);
  const auto is_in = [](CpusView set, const CpuGroup& candidate, const CpuGroup* parent) {
    return parent == nullptr ? intersects(set, candidate) : intersects(set, candidate, *parent);
  };
  // Appends the candidates with free CPUs in the parent, ranked by all their free CPUs.
  const auto append_if = [&](List& to, Level of, std::span<const std::int32_t> candidates,
                             const CpuGroup* parent, const auto& is_meant) {
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const CpuGroup& candidate = group(of, candidates[i]);
      const bool is_inside = is_in(free, candidate, parent) && is_meant(candidate);
      counts[i] = is_inside ? count_common(free, candidate) : 0;
      if (counts[i] > 0) least = std::min(least, counts[i]);
    }
    append_by_count(to, candidates, counts.first(candidates.size()), least);
  };
  const auto append = [&](List& to, Level of, std::span<const std::int32_t> candidates,
                          const CpuGroup* parent) {
    if (kept.empty()) {
      append_if(to, of, candidates, parent, [](const CpuGroup&) { return true; });
      return;
    }
    for (const bool with_kept : {true, false}) {
      append_if(to, of, candidates, parent, [&](const CpuGroup& candidate) {
        return is_in(kept, candidate, parent) == with_kept;
      });
    }
  };
  append(list, first_, all_first_, nullptr);
  if (level == first_) return list.items();

  const auto descend = [&](Level outer, Level inner, const Nesting& nesting) {
    List below(longest_list_, arena);
    for (const std::int32_t outside : list.items()) {
      append(below, inner, nesting[static_cast<std::size_t>(outside)], &group(outer, outside));
    }
    list = below;
  };
  if (level == Level::kCache && first_ == Level::kNuma) {
    descend(Level::kNuma, Level::kCache, caches_in_numa_);
    return list.items();
  }
  descend(first_, second_, second_in_first_);
  if (level == Level::kCore) descend(second_, Level::kCore, cores_in_second_);
  if (level == Level::kCache) descend(Level::kNuma, Level::kCache, caches_in_numa_);
  return list.items();
}

}  // namespace pinfold::place
