#include "pinfold/place/take.hpp"

#include <algorithm>

#include "distribute.hpp"
#include "taker.hpp"

namespace pinfold::place {
namespace {

int divided_up(int a, int b) { return (a - 1) / b + 1; }

/// Returns the index of the socket that contains the NUMA node; -1 if the node spans several.
int socket_of_numa(const CpuTree& tree, const CpuGroup& node) {
  const std::int32_t first = tree.group_of(Level::kSocket, first_common(tree.all(), node));
  const std::span<const CpuGroup> sockets = tree.groups(Level::kSocket);
  for (std::size_t other = 0; other < sockets.size(); ++other) {
    if (static_cast<std::int32_t>(other) == first) continue;
    if (intersects(tree.all(), node, sockets[other])) return -1;
  }
  return first;
}

/// Takes the shares of a choice, packed within each NUMA node.
Taken take_choice(const TakeRules& rules, const NumaDistribution& d, const NumaChoice& choice,
                  CpusView available, Arena& arena, TakeSteps* steps, CpusView kept) {
  const CpuTree& tree = *rules.tree;
  Taker taker(rules, available, d.count, arena, nullptr, kept);
  const auto cpus_of = [&](int place) -> const CpuGroup& {
    return tree.group(Level::kNuma, d.nodes[static_cast<std::size_t>(place)]);
  };
  const auto take_from = [&](int place, int count) {
    const Arena::Scope scope(arena);
    const Cpus inside = arena.make<Word>(available.size());
    add(inside, cpus_of(place));
    if (kept.empty()) {
      keep_only(inside, taker.free());
      // A NUMA node with too few CPUs gives none; the check at the end reports it.
      if (const auto taken = take_packed(rules, inside, count, arena, nullptr)) taker.take(*taken);
      return;
    }
    const Cpus had = arena.copy(CpusView(inside));
    keep_only(had, taker.result());
    keep_only(inside, taker.free());
    const int all = count + place::count(had);
    if (const auto taken = take_packed(rules, inside, all, arena, nullptr, had)) {
      remove(*taken, had);
      taker.take(*taken);
    }
  };
  // QUIRK: the kubelet does not cut a share to what a NUMA node has.
  const int share = rules.quirks.align_by_socket_ignored_in_distribution
                        ? even_share(d, choice.nodes.size())
                        : cut_share(d, {choice.nodes.data(), choice.nodes.size()});
  int remainder = d.count;
  for (const int place : choice.nodes) {
    const int has = d.kept.empty() ? 0 : d.kept[static_cast<std::size_t>(place)];
    if (share > has) take_from(place, share - has);
    remainder -= std::max(share, has);
  }
  for (bool progress = true; remainder > 0 && progress;) {
    progress = false;
    for (const int place : choice.remainder) {
      if (remainder == 0) break;
      if (count_common(taker.free(), cpus_of(place)) < d.group) continue;
      take_from(place, d.group);
      remainder -= d.group;
      progress = true;
    }
  }
  if (taker.needed() > 0) {
    return tl::unexpected(CpuFailure{
        .kind = CpuFailure::Kind::kAccounting, .requested = d.count, .available = taker.needed()});
  }
  if (steps != nullptr) {
    for (const int place : choice.nodes) {
      const Cpus part = arena.make<Word>(available.size());
      add(part, cpus_of(place));
      keep_only(part, taker.result());
      steps->push_back(
          {TakeStep::Kind::kFromNuma, Level::kNuma, cpus_of(place).id, {part.begin(), part.end()}});
    }
  }
  return taker.result();
}

/// distribute-cpus-across-numa: spreads evenly over the smallest number of NUMA nodes that allows
/// it; falls back to take_packed if none does.
Taken take_across_numa(const TakeRules& rules, CpusView available, int count, Arena& arena,
                       TakeSteps* steps, CpusView kept) {
  const int group = rules.numa_group_size;
  if (count < 1) return arena.make<Word>(available.size());
  if (count % group != 0) return take_packed(rules, available, count, arena, steps, kept);
  if (const int free = place::count(available); count > free) {
    return tl::unexpected(
        CpuFailure{.kind = CpuFailure::Kind::kNotEnough, .requested = count, .available = free});
  }
  const CpuTree& tree = *rules.tree;
  NumaDistribution d;
  d.best_combination_overwritten = rules.quirks.best_numa_combination_overwritten;
  // QUIRK: in the kubelet, align-by-socket has no effect here.
  d.within_socket = rules.align_by_socket && !rules.quirks.align_by_socket_ignored_in_distribution;
  d.count = count;
  d.group = group;
  const auto add_node = [&](std::int32_t node) {
    const auto known = std::find(d.nodes.begin(), d.nodes.end(), node);
    // QUIRK: the kubelet enumerates a NUMA node that spans two sockets twice.
    if (known != d.nodes.end() && !rules.quirks.spanning_group_taken_twice) return;
    d.order.push_back(static_cast<int>(known - d.nodes.begin()));
    if (known != d.nodes.end()) return;
    const CpuGroup& cpus = tree.group(Level::kNuma, node);
    d.nodes.push_back(node);
    d.available.push_back(count_common(available, cpus));
    if (!kept.empty()) d.kept.push_back(count_common(kept, cpus));
    if (d.within_socket) d.sockets.push_back(socket_of_numa(tree, cpus));
  };
  const Cpus free = arena.copy(available);
  if (!kept.empty()) {
    remove(free, kept);
    for (std::int32_t node = 0; node < tree.numa_count(); ++node) {
      const CpuGroup& cpus = tree.group(Level::kNuma, node);
      if (intersects(kept, cpus) && !intersects(free, cpus)) add_node(node);
    }
  }
  for (const std::int32_t node : tree.sorted(Level::kNuma, free, arena, kept)) add_node(node);
  // Use at least as many NUMA nodes as on an empty machine and in the affinity, at most one for
  // each group of CPUs.
  const int groups = divided_up(tree.cpu_count(), group);
  const int groups_needed = divided_up(count, group);
  int fewest = divided_up(groups_needed, divided_up(groups, tree.numa_with_cpus()));
  const int most = std::min(groups_needed, static_cast<int>(d.nodes.size()));
  // QUIRK: without the quirk, an affinity that is wider than necessary is not narrowed.
  if (!rules.quirks.affinity_width_ignored_in_distribution && rules.affinity_nodes <= most) {
    fewest = std::max(fewest, rules.affinity_nodes);
  }
  for (int k = fewest; k <= most; ++k) {
    const NumaChoice choice = best_choice(d, k);
    if (!choice.nodes.empty()) return take_choice(rules, d, choice, available, arena, steps, kept);
  }
  return take_packed(rules, available, count, arena, steps, kept);
}

}  // namespace

Taken take(const TakeRules& rules, CpusView available, int count, Arena& arena, TakeSteps* steps,
           CpusView kept) {
  return rules.across_numa ? take_across_numa(rules, available, count, arena, steps, kept)
                           : take_packed(rules, available, count, arena, steps, kept);
}

}  // namespace pinfold::place
