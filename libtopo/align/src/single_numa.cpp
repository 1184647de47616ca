#include "single_numa.hpp"

#include <algorithm>
#include <numeric>

namespace pinfold::align {
namespace {

/// Stands for a node: any node will do.
constexpr int kAny = NumaMask::kMaxNodes;

/// Returns the single nodes that a resource prefers, in the order of its hints.
std::vector<int> usable(const HintsOfResource& resource) {
  std::vector<int> nodes;
  for (const TopologyHint& hint : resource.hints) {
    if (hint.numa && hint.numa->count() > 1) break;  // the narrowest come first
    if (!hint.preferred) continue;
    if (!hint.numa) {
      nodes.push_back(kAny);
    } else if (!hint.numa->empty()) {
      nodes.push_back(hint.numa->first());
    }
  }
  return nodes;
}

NumaMask reach(std::span<const int> nodes, const MergeRules& rules) {
  NumaMask mask;
  for (const int node : nodes) mask = mask | (node == kAny ? rules.all : NumaMask::of(node));
  return mask;
}

/// Returns -1 if the first is more allocated, 1 if the second is, 0 if equal.
int compare_scores(const std::vector<int>& scores, int first, int second) {
  const auto of = [&](int node) {
    const auto index = static_cast<std::size_t>(node);
    return index < scores.size() ? scores[index] : 0;
  };
  return of(first) > of(second) ? -1 : (of(first) < of(second) ? 1 : 0);
}

/// Returns the winner under prefer-most-allocated-numa-node. One node beats kAny. The more
/// allocated node wins, unless CPU and memory disagree: then the lower one does.
int better(const AllocationScores& scores, int current, int candidate) {
  if (current == candidate || candidate == kAny) return current;
  if (current == kAny) return candidate;
  const int cpu = compare_scores(scores.cpu, current, candidate);
  const int memory = compare_scores(scores.memory, current, candidate);
  const int winner = cpu == 0 ? memory : (memory == 0 || memory == cpu ? cpu : 0);
  if (winner != 0) return winner < 0 ? current : candidate;
  return std::min(current, candidate);
}

/// Maps the best candidate before all combinations of some lists are considered (the index) to the
/// best one afterwards (the value).
using Outcome = std::vector<int>;
constexpr int kNone = NumaMask::kMaxNodes + 1;

/// Folds the lists from last to first. Once a list chooses a node, the lists after it can only add
/// the same node, or rule it out if one of them does not contain it.
int fold_in_order(const std::vector<std::vector<int>>& lists, const MergeRules& rules,
                  const AllocationScores& scores) {
  Outcome behind(kNone + 1);
  for (int before = 0; before <= kNone; ++before) {
    behind[static_cast<std::size_t>(before)] =
        before == kNone ? kAny : better(scores, before, kAny);
  }
  NumaMask reachable_behind = rules.all;
  for (auto list = lists.rbegin(); list != lists.rend(); ++list) {
    Outcome outcome(behind.size());
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
    behind = std::move(outcome);
    reachable_behind = reachable_behind & reach(*list, rules);
  }
  return behind[kNone];
}

}  // namespace

std::optional<NumaMask> merge_single_numa(std::span<const HintsOfResource> resources,
                                          const MergeRules& rules, const AllocationScores* scores) {
  NumaMask common = rules.all;
  bool anywhere = true;
  std::vector<std::vector<int>> lists;
  for (const HintsOfResource& resource : resources) {
    const std::vector<int> nodes = usable(resource);
    if (nodes.empty()) return std::nullopt;
    common = common & reach(nodes, rules);
    const bool any = std::find(nodes.begin(), nodes.end(), kAny) != nodes.end();
    if (any && nodes.size() == 1) continue;
    anywhere = anywhere && any;
    lists.push_back(nodes);
  }
  if (lists.empty()) return rules.all;
  if (common.empty()) return std::nullopt;
  if (scores == nullptr) {
    NumaMask named;
    for (const auto& nodes : lists) {
      for (const int node : nodes) {
        if (node != kAny) named = named | NumaMask::of(node);
      }
    }
    const NumaMask single = common & named;
    if (single.empty()) return anywhere ? std::optional(rules.all) : std::nullopt;
    return NumaMask::of(single.first());
  }
  const int node = fold_in_order(lists, rules, *scores);
  if (node == kNone) return std::nullopt;
  return node == kAny ? rules.all : NumaMask::of(node);
}

}  // namespace pinfold::align
