#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/align/topology_manager.hpp"

/// The merge exactly as in the kubelet: every combination of one hint per resource, each compared
/// with the best so far. The reference for the fast merge; slow on purpose.
namespace pinfold::test {

struct NaiveRules {
  TopologyPolicy policy = TopologyPolicy::kBestEffort;
  TopologyOptions options;
  int nodes = 0;
  std::vector<std::vector<std::uint32_t>> distances;
  UsageByResource usage;
};

class NaiveMerge {
 public:
  explicit NaiveMerge(NaiveRules rules) : rules_(std::move(rules)) {}

  [[nodiscard]] MergedHint operator()(std::span<const ResourceHints> providers) {
    if (rules_.policy == TopologyPolicy::kNone) return {{}, true};
    lists_.clear();
    names_.clear();
    best_.reset();
    for (const ResourceHints& provider : providers) take_provider(provider);
    if (single()) keep_single_preferred();
    wanted_width_ = largest_least_width();
    choose(0, {all(), true}, std::nullopt, {});

    TopologyHint hint =
        best_ ? TopologyHint{best_->mask, best_->preferred} : TopologyHint{all(), false};
    if (single() && hint.numa == all()) hint.numa.reset();
    return {hint, hint.preferred || rules_.policy == TopologyPolicy::kBestEffort};
  }

  struct Merged {
    NumaMask mask;
    bool preferred = false;
    std::uint64_t score = 0;  ///< 0: not scored
  };

  /// Returns true if the kubelet replaces `current` with `candidate`; `wanted`: see
  /// largest_least_width().
  [[nodiscard]] bool replaces(Merged current, Merged candidate, int wanted) const {
    if (current.preferred != candidate.preferred) return candidate.preferred;
    if (current.preferred) return fitter(current, candidate);
    const int now = current.mask.count();
    const int then = candidate.mask.count();
    if (now > wanted) return fitter(current, candidate);
    if (now == wanted) return then == wanted && fitter(current, candidate);
    if (then > wanted) return false;
    if (then == wanted || then > now) return true;
    if (then < now) return false;
    return fitter(current, candidate);
  }

 private:
  [[nodiscard]] bool single() const { return rules_.policy == TopologyPolicy::kSingleNumaNode; }
  [[nodiscard]] NumaMask all() const { return NumaMask::all(rules_.nodes); }

  void take_provider(const ResourceHints& provider) {
    if (provider.empty()) {
      lists_.push_back({{std::nullopt, true}});
      names_.emplace_back();
    }
    for (const auto& [resource, hints] : provider) {
      names_.push_back(resource);
      if (!hints) {
        lists_.push_back({{std::nullopt, true}});
      } else if (hints->empty()) {
        lists_.push_back({{std::nullopt, false}});
      } else {
        lists_.push_back(*hints);
      }
    }
  }

  void keep_single_preferred() {
    for (auto& list : lists_) {
      std::erase_if(list, [](const TopologyHint& hint) {
        return !hint.preferred || (hint.numa && hint.numa->count() != 1);
      });
    }
  }

  [[nodiscard]] int largest_least_width() const {
    int largest = 0;
    for (const auto& list : lists_) {
      int least = 0;
      bool found = false;
      for (const TopologyHint& hint : list) {
        if (hint.numa && (!found || hint.numa->count() < least)) {
          least = hint.numa->count();
          found = true;
        }
      }
      if (least > largest) largest = least;
    }
    return largest;
  }

  /// Sums over the hints of a combination that have a score.
  struct Sums {
    std::uint64_t scores = 0;  ///< times their weight
    std::uint64_t weights = 0;
  };

  void choose(std::size_t depth, Merged merged, std::optional<NumaMask> first, Sums sums) {
    if (depth == lists_.size()) {
      if (sums.weights > 0) merged.score = sums.scores / sums.weights;
      if (merged.mask.empty()) return;
      if (!best_ || replaces(*best_, merged, wanted_width_)) best_ = merged;
      return;
    }
    for (const TopologyHint& hint : lists_[depth]) {
      Merged next = merged;
      next.preferred = next.preferred && hint.preferred;
      if (!hint.numa) {
        choose(depth + 1, next, first, sums);
        continue;
      }
      const NumaMask equal_to = first.value_or(*hint.numa);
      next.mask = next.mask & *hint.numa;
      next.preferred = next.preferred && equal_to == *hint.numa;
      choose(depth + 1, next, equal_to, with_score(sums, names_[depth], *hint.numa));
    }
  }

  [[nodiscard]] Sums with_score(Sums sums, const std::string& resource, NumaMask mask) const {
    const auto usage = rules_.usage.find(resource);
    if (usage == rules_.usage.end()) return sums;
    std::uint64_t assigned = 0;
    std::uint64_t allocatable = 0;
    for (const NumaUsage& part : usage->second) {
      if ((part.nodes & mask).empty()) continue;
      assigned += part.assigned;
      allocatable += part.allocatable;
    }
    if (allocatable == 0) return sums;
    const auto& weights = rules_.options.numa_score_weights;
    const auto found = weights.find(resource);
    const auto weight = static_cast<std::uint64_t>(found == weights.end() ? 1 : found->second);
    const std::uint64_t score = assigned * 100 / allocatable;
    return {sums.scores + weight * (score == 0 ? 1 : score), sums.weights + weight};
  }

  [[nodiscard]] bool fitter(const Merged& current, const Merged& candidate) const {
    const bool closest = !single() && rules_.options.prefer_closest_numa_nodes;
    if (current.mask == candidate.mask) return false;
    if (single() && rules_.options.prefer_most_allocated_numa_node && current.preferred &&
        current.mask.count() == 1 && candidate.mask.count() == 1) {
      const int cpu = busier("cpu", current.mask, candidate.mask);
      const int memory = busier("memory", current.mask, candidate.mask);
      if (cpu + memory != 0) return cpu + memory > 0;
    }
    const bool is_as_wide = current.mask.count() == candidate.mask.count();
    const double now = closest ? average(current.mask) : 0;
    const double then = closest ? average(candidate.mask) : 0;
    const bool is_scored =
        current.score != 0 && candidate.score != 0 && current.score != candidate.score;
    if (is_as_wide && now == then && is_scored) {
      const auto strategy = rules_.options.numa_allocation_strategy;
      if (strategy == NumaAllocationStrategy::kMostAllocated) {
        return candidate.score > current.score;
      }
      if (strategy == NumaAllocationStrategy::kLeastAllocated) {
        return candidate.score < current.score;
      }
    }
    if (is_as_wide && now != then) return then < now;
    return candidate.mask.narrower_than(current.mask);
  }

  /// Returns 1 if the candidate's node is busier, -1 if the current one is, 0 if neither is.
  [[nodiscard]] int busier(std::string_view resource, NumaMask current, NumaMask candidate) const {
    const auto usage = rules_.usage.find(resource);
    if (usage == rules_.usage.end()) return 0;
    const auto score = [&](NumaMask node) {
      std::uint64_t of_node = 0;
      for (const NumaUsage& part : usage->second) {
        if (part.nodes == node && part.allocatable > 0) {
          of_node = part.assigned * 100 / part.allocatable;
        }
      }
      return of_node;
    };
    return (score(candidate) > score(current) ? 1 : 0) -
           (score(candidate) < score(current) ? 1 : 0);
  }

  [[nodiscard]] double average(NumaMask mask) const {
    double sum = 0;
    double count = 0;
    for (const int a : mask.positions()) {
      for (const int b : mask.positions()) {
        sum += rules_.distances[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
        count += 1;
      }
    }
    return sum / count;
  }

  NaiveRules rules_;
  std::vector<std::vector<TopologyHint>> lists_;
  std::vector<std::string> names_;  ///< of the lists' resources
  int wanted_width_ = 0;
  std::optional<Merged> best_;
};

}  // namespace pinfold::test
