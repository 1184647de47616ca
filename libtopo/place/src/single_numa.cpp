#include "single_numa.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "pinfold/place/score.hpp"

namespace pinfold::place {
namespace {

/// Stands for a node: any node will do.
constexpr int kAny = NumaMask::kMaxNodes;

using Nodes = std::span<const int>;

/// Returns the single nodes that a resource prefers, in the order of its hints.
Nodes usable(const Hints& hints, const MergeRules& rules, Arena& arena) {
  static constexpr std::array<int, 1> kAnyNode = {kAny};
  if (hints.kind == Hints::Kind::kAnywhere) return kAnyNode;
  if (hints.kind == Hints::Kind::kNowhere) return {};
  std::size_t size = 0;
  if (hints.kind == Hints::Kind::kRule) {
    if (hints.rule->narrowest() > 1 || hints.rule->widest() < 1) return {};
    const auto nodes = arena.make_raw<int>(static_cast<std::size_t>(rules.nodes));
    for (int node = 0; node < rules.nodes; ++node) {
      if (hints.rule->fit(NumaMask::of(node)) == Fit::kPreferred) nodes[size++] = node;
    }
    return nodes.first(size);
  }
  const auto nodes = arena.make_raw<int>(hints.list.size());
  for (const TopologyHint& hint : hints.list) {
    if (hint.numa && hint.numa->count() > 1) break;  // the narrowest come first
    if (!hint.preferred) continue;
    if (!hint.numa) {
      nodes[size++] = kAny;
    } else if (!hint.numa->empty()) {
      nodes[size++] = hint.numa->first();
    }
  }
  return nodes.first(size);
}

NumaMask reach(Nodes nodes, const MergeRules& rules) {
  NumaMask mask;
  for (const int node : nodes) mask = mask | (node == kAny ? rules.all() : NumaMask::of(node));
  return mask;
}

/// Returns -1 if the first is more allocated, 1 if the second is, 0 if equal.
int compare_allocated(std::span<const int> scores, int first, int second) {
  const auto of = [&](int node) {
    const auto index = static_cast<std::size_t>(node);
    return index < scores.size() ? scores[index] : 0;
  };
  return of(first) > of(second) ? -1 : (of(first) < of(second) ? 1 : 0);
}

/// Returns the winner under prefer-most-allocated-numa-node. One node beats kAny. The more
/// allocated node wins, unless CPU and memory disagree: then the lower one does.
int better(const Scores& scores, int current, int candidate) {
  if (current == candidate || candidate == kAny) return current;
  if (current == kAny) return candidate;
  const int cpu = compare_allocated(scores.cpu, current, candidate);
  const int memory = compare_allocated(scores.memory, current, candidate);
  const int winner = cpu == 0 ? memory : (memory == 0 || memory == cpu ? cpu : 0);
  if (winner != 0) return winner < 0 ? current : candidate;
  return std::min(current, candidate);
}

constexpr int kNone = NumaMask::kMaxNodes + 1;
/// Maps the best candidate before all combinations of some lists are considered (the index) to the
/// best one afterwards (the value).
using Outcome = std::array<int, kNone + 1>;

/// Folds the lists from last to first. Once a list chooses a node, the lists after it can only add
/// the same node, or rule it out if one of them does not contain it.
int fold_in_order(std::span<const Nodes> lists, const MergeRules& rules) {
  const Scores& scores = *rules.scores;
  Outcome behind{};
  for (int before = 0; before <= kNone; ++before) {
    behind[static_cast<std::size_t>(before)] =
        before == kNone ? kAny : better(scores, before, kAny);
  }
  NumaMask reachable_behind = rules.all();
  for (auto list = lists.rbegin(); list != lists.rend(); ++list) {
    Outcome outcome{};
    std::iota(outcome.begin(), outcome.end(), 0);
    for (const int node : *list) {
      if (node != kAny && !reachable_behind.contains(node)) continue;
      for (int& value : outcome) {
        if (node == kAny) {
          value = behind[static_cast<std::size_t>(value)];
        } else {
          value = value == kNone ? node : better(scores, value, node);
        }
      }
    }
    behind = outcome;
    reachable_behind = reachable_behind & reach(*list, rules);
  }
  return behind[kNone];
}

/// Returns the node that the strategy chooses. Domain: every resource that names nodes prefers
/// each of `nodes`.
NumaMask choose(NumaMask nodes, std::span<const Hints> resources, const MergeRules& rules) {
  NumaMask best;
  std::uint64_t of_best = 0;
  for (const int node : nodes.positions()) {
    const NumaMask mask = NumaMask::of(node);
    const std::uint64_t score = score_of(resources, mask);
    if (!best.empty() && !replaces(rules.strategy, best, of_best, mask, score)) continue;
    best = mask;
    of_best = score;
  }
  return best;
}

}  // namespace

std::optional<NumaMask> merge_single_numa(std::span<const Hints> resources, const MergeRules& rules,
                                          Arena& arena) {
  NumaMask common = rules.all();
  NumaMask named;
  bool anywhere = true;
  const auto lists = arena.make_raw<Nodes>(resources.size());
  std::size_t with_nodes = 0;
  for (const Hints& hints : resources) {
    const Nodes nodes = usable(hints, rules, arena);
    if (nodes.empty()) return std::nullopt;
    bool any = false;
    NumaMask its_nodes;
    for (const int node : nodes) {
      if (node == kAny) {
        any = true;
      } else {
        its_nodes = its_nodes | NumaMask::of(node);
      }
    }
    common = common & (any ? rules.all() : its_nodes);
    if (any && nodes.size() == 1) continue;
    named = named | its_nodes;
    anywhere = anywhere && any;
    lists[with_nodes++] = nodes;
  }
  if (with_nodes == 0) return rules.all();
  if (common.empty()) return std::nullopt;
  if (rules.scores == nullptr) {
    const NumaMask single = common & named;
    if (single.empty()) return anywhere ? std::optional(rules.all()) : std::nullopt;
    if (!are_scored(rules.strategy, resources)) return NumaMask::of(single.first());
    return choose(single, resources, rules);
  }
  const int node = fold_in_order(lists.first(with_nodes), rules);
  if (node == kNone) return std::nullopt;
  return node == kAny ? rules.all() : NumaMask::of(node);
}

}  // namespace pinfold::place
