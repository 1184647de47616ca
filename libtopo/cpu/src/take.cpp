#include "take.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "distribute.hpp"

namespace pinfold::cpu {
namespace {

int divided_up(int a, int b) { return (a - 1) / b + 1; }

/// Returns the index of the socket that contains the NUMA node; -1 if the node spans several.
int socket_of_numa(const Machine& machine, int node) {
  const CpuSet& cpus = machine.cpus_of_numa(node);
  const std::int32_t socket = machine.groups_of(cpus.first()).socket;
  return machine.sockets()[static_cast<std::size_t>(socket)].cpus.contains_all(cpus) ? socket : -1;
}

/// Takes the shares of a choice, packed within each NUMA node.
Taken take_choice(const TakeRules& rules, const NumaDistribution& d, const NumaChoice& choice,
                  const CpuSet& available, Steps* steps) {
  const Machine& machine = rules.hierarchy->machine();
  Accumulator accumulator(rules, available, d.count, nullptr);
  const auto cpus_of = [&](int place) -> const CpuSet& {
    return machine.cpus_of_numa(d.nodes[static_cast<std::size_t>(place)]);
  };
  const auto take_from = [&](int place, int count) {
    // A NUMA node with too few CPUs gives none; the check at the end reports it.
    const auto taken = take_packed(rules, accumulator.free() & cpus_of(place), count, nullptr);
    if (taken) accumulator.take(*taken);
  };
  // QUIRK: the kubelet does not cut a share to what a NUMA node has.
  const int share = rules.quirks.align_by_socket_ignored_in_distribution
                        ? even_share(d, choice.nodes.size())
                        : cut_share(d, {choice.nodes.data(), choice.nodes.size()});
  for (const int place : choice.nodes) take_from(place, share);
  int remainder = d.count - share * static_cast<int>(choice.nodes.size());
  for (bool progress = true; remainder > 0 && progress;) {
    progress = false;
    for (const int place : choice.remainder) {
      if (remainder == 0) break;
      if (static_cast<int>(accumulator.free().count_common(cpus_of(place))) < d.group) continue;
      take_from(place, d.group);
      remainder -= d.group;
      progress = true;
    }
  }
  if (accumulator.needed() > 0) {
    return tl::unexpected(fmt::format("accounting error, not enough CPUs allocated, remaining: {}",
                                      accumulator.needed()));
  }
  if (steps != nullptr) {
    for (const int place : choice.nodes) {
      const int node = d.nodes[static_cast<std::size_t>(place)];
      steps->push_back(fmt::format("from NUMA node {} CPUs {}", machine.numa_id(node).value,
                                   (accumulator.result() & cpus_of(place)).to_string()));
    }
  }
  return accumulator.result();
}

/// distribute-cpus-across-numa: spreads evenly over the smallest number of NUMA nodes that allows
/// it; falls back to take_packed if none does.
Taken take_across_numa(const TakeRules& rules, const CpuSet& available, int count, Steps* steps) {
  const int group = rules.numa_group_size;
  if (count < 1) return CpuSet{};
  if (count % group != 0) return take_packed(rules, available, count, steps);
  if (count > static_cast<int>(available.size())) {
    return tl::unexpected(not_enough(count, available));
  }
  const Machine& machine = rules.hierarchy->machine();
  NumaDistribution d;
  d.best_combination_overwritten = rules.quirks.best_numa_combination_overwritten;
  // QUIRK: in the kubelet, align-by-socket has no effect here.
  d.within_socket = rules.align_by_socket && !rules.quirks.align_by_socket_ignored_in_distribution;
  d.count = count;
  d.group = group;
  for (const std::int32_t node : rules.hierarchy->sorted(Level::kNuma, available)) {
    const auto known = std::find(d.nodes.begin(), d.nodes.end(), node);
    // QUIRK: the kubelet enumerates a NUMA node that spans two sockets twice.
    if (known != d.nodes.end() && !rules.quirks.spanning_group_taken_twice) continue;
    d.order.push_back(static_cast<int>(known - d.nodes.begin()));
    if (known != d.nodes.end()) continue;
    d.nodes.push_back(node);
    d.available.push_back(static_cast<int>(available.count_common(machine.cpus_of_numa(node))));
    if (d.within_socket) d.sockets.push_back(socket_of_numa(machine, node));
  }
  // Use at least as many NUMA nodes as on an empty machine and in the affinity, at most one for
  // each group of CPUs.
  const int groups = divided_up(static_cast<int>(machine.cpus().size()), group);
  const int groups_needed = divided_up(count, group);
  int fewest = divided_up(groups_needed, divided_up(groups, machine.numa_with_cpus()));
  const int most = std::min(groups_needed, static_cast<int>(d.nodes.size()));
  // QUIRK: without the quirk, an affinity that is wider than necessary is not narrowed.
  if (!rules.quirks.affinity_width_ignored_in_distribution && rules.affinity_nodes <= most) {
    fewest = std::max(fewest, rules.affinity_nodes);
  }
  for (int k = fewest; k <= most; ++k) {
    const NumaChoice choice = best_choice(d, k);
    if (!choice.nodes.empty()) return take_choice(rules, d, choice, available, steps);
  }
  return take_packed(rules, available, count, steps);
}

}  // namespace

Taken take(const TakeRules& rules, const CpuSet& available, int count, Steps* steps) {
  return rules.across_numa ? take_across_numa(rules, available, count, steps)
                           : take_packed(rules, available, count, steps);
}

}  // namespace pinfold::cpu
