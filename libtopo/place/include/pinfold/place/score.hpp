#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/place/hints.hpp"

namespace pinfold::place {

/// The score of a merged hint: the average of the scores of its hints, by weight, rounded down. A
/// hint's score is how much of its mask is assigned, in per cent, at least 1.
class HintScore {
 public:
  /// Adds the score of a resource's hint with this mask, if it has one.
  void add(const Hints& hints, NumaMask mask) {
    std::uint64_t assigned = 0;
    std::uint64_t allocatable = 0;
    for (const NumaUsage& usage : hints.usage) {
      if ((usage.nodes & mask).empty()) continue;
      assigned += usage.assigned;
      allocatable += usage.allocatable;
    }
    if (allocatable == 0) return;
    const auto weight = static_cast<std::uint64_t>(hints.weight);
    sum_ += weight * std::max<std::uint64_t>(1, assigned * 100 / allocatable);
    weight_ += weight;
  }
  /// Returns the score; 0: not scored.
  [[nodiscard]] std::uint64_t value() const { return weight_ == 0 ? 0 : sum_ / weight_; }

 private:
  std::uint64_t sum_ = 0;
  std::uint64_t weight_ = 0;
};

/// Returns the score of a mask that every resource with a preference has as a hint; 0: not scored.
[[nodiscard]] inline std::uint64_t score_of(std::span<const Hints> resources, NumaMask mask) {
  HintScore score;
  for (const Hints& hints : resources) {
    if (hints.kind != Hints::Kind::kAnywhere) score.add(hints, mask);
  }
  return score.value();
}

/// Returns -1 if the strategy chooses the mask with the first score, 1 if that with the second, 0
/// if it does not care: the scores are equal, or one mask has none.
[[nodiscard]] constexpr int compare_scores(NumaAllocationStrategy strategy, std::uint64_t first,
                                           std::uint64_t second) {
  if (strategy == NumaAllocationStrategy::kNone || first == second) return 0;
  if (first == 0 || second == 0) return 0;
  return (first > second) == (strategy == NumaAllocationStrategy::kMostAllocated) ? -1 : 1;
}

/// Returns whether a mask replaces another one that is equally good by everything but scores: by
/// the strategy or, if that does not care, as the lower one. A mask never replaces itself.
[[nodiscard]] constexpr bool replaces(NumaAllocationStrategy strategy, NumaMask current,
                                      std::uint64_t score, NumaMask candidate,
                                      std::uint64_t its_score) {
  if (candidate == current) return false;
  const int chosen = compare_scores(strategy, score, its_score);
  return chosen != 0 ? chosen > 0 : candidate < current;
}

/// Returns whether the strategy can choose: whether some resource has a score.
[[nodiscard]] inline bool are_scored(NumaAllocationStrategy strategy,
                                     std::span<const Hints> resources) {
  return strategy != NumaAllocationStrategy::kNone &&
         std::any_of(resources.begin(), resources.end(),
                     [](const Hints& of) { return !of.usage.empty() && of.weight > 0; });
}

}  // namespace pinfold::place
