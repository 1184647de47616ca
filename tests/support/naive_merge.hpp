#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  AllocationScores scores;
};

class NaiveMerge {
 public:
  explicit NaiveMerge(NaiveRules rules) : rules_(std::move(rules)) {}

  [[nodiscard]] MergedHint operator()(std::span<const ResourceHints> providers) {
    if (rules_.policy == TopologyPolicy::kNone) return {{}, true};
    lists_.clear();
    best_.reset();
    for (const ResourceHints& provider : providers) take_provider(provider);
    if (single()) keep_single_preferred();
    wanted_width_ = largest_least_width();
    choose(0, all(), std::nullopt, true);

    TopologyHint hint =
        best_ ? TopologyHint{best_->mask, best_->preferred} : TopologyHint{all(), false};
    if (single() && hint.numa == all()) hint.numa.reset();
    return {hint, hint.preferred || rules_.policy == TopologyPolicy::kBestEffort};
  }

  struct Merged {
    NumaMask mask;
    bool preferred = false;
  };

  /// Returns true if the kubelet replaces `current` with `candidate`; `wanted`: see
  /// largest_least_width().
  [[nodiscard]] bool replaces(Merged current, Merged candidate, int wanted) const {
    if (current.preferred != candidate.preferred) return candidate.preferred;
    if (current.preferred) return fitter(current.mask, candidate.mask, true);
    const int now = current.mask.count();
    const int then = candidate.mask.count();
    if (now > wanted) return fitter(current.mask, candidate.mask, false);
    if (now == wanted) return then == wanted && fitter(current.mask, candidate.mask, false);
    if (then > wanted) return false;
    if (then == wanted || then > now) return true;
    if (then < now) return false;
    return fitter(current.mask, candidate.mask, false);
  }

 private:
  [[nodiscard]] bool single() const { return rules_.policy == TopologyPolicy::kSingleNumaNode; }
  [[nodiscard]] NumaMask all() const { return NumaMask::all(rules_.nodes); }

  void take_provider(const ResourceHints& provider) {
    if (provider.empty()) lists_.push_back({{std::nullopt, true}});
    for (const auto& [resource, hints] : provider) {
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

  void choose(std::size_t depth, NumaMask mask, std::optional<NumaMask> first, bool preferred) {
    if (depth == lists_.size()) {
      const Merged candidate{mask, preferred};
      if (mask.empty()) return;
      if (!best_ || replaces(*best_, candidate, wanted_width_)) best_ = candidate;
      return;
    }
    for (const TopologyHint& hint : lists_[depth]) {
      if (!hint.numa) {
        choose(depth + 1, mask, first, preferred && hint.preferred);
      } else {
        const NumaMask equal_to = first.value_or(*hint.numa);
        choose(depth + 1, mask & *hint.numa, equal_to,
               preferred && hint.preferred && equal_to == *hint.numa);
      }
    }
  }

  [[nodiscard]] bool fitter(NumaMask current, NumaMask candidate, bool preferred) const {
    if (current == candidate) return false;
    if (single() && rules_.options.prefer_most_allocated_numa_node && preferred &&
        current.count() == 1 && candidate.count() == 1) {
      const int cpu = busier(rules_.scores.cpu, current, candidate);
      const int memory = busier(rules_.scores.memory, current, candidate);
      if (cpu + memory != 0) return cpu + memory > 0;
    }
    if (!single() && rules_.options.prefer_closest_numa_nodes &&
        current.count() == candidate.count()) {
      const double now = average(current);
      const double then = average(candidate);
      if (now != then) return then < now;
    }
    return candidate.narrower_than(current);
  }

  /// Returns 1 if the candidate's node is busier, -1 if the current one is, 0 if neither is.
  [[nodiscard]] static int busier(const std::vector<int>& scores, NumaMask current,
                                  NumaMask candidate) {
    if (scores.empty()) return 0;
    const int now = scores[static_cast<std::size_t>(current.first())];
    const int then = scores[static_cast<std::size_t>(candidate.first())];
    return (then > now ? 1 : 0) - (then < now ? 1 : 0);
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
  int wanted_width_ = 0;
  std::optional<Merged> best_;
};

}  // namespace pinfold::test
