#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "candidates.hpp"
#include "judge.hpp"
#include "placing.hpp"
#include "problem.hpp"

namespace pinfold::planning {

/// The conditions of a search besides low cost.
struct SearchRules {
  bool may_lose = true;  ///< pods may be evicted, or stay against the rules
  /// The pods got their resources by the same rules, so a complete assignment is not judged again.
  bool same_rules = false;
  bool evict = false;  ///< see PlanOptions
  std::size_t steps = 0;
  /// The index of the only pod that may move; nullopt: all may.
  std::optional<std::size_t> only = std::nullopt;
  /// Returns whether a choice for every pod is a solution.
  std::function<bool(const std::vector<PodChoice>&)> accepts;
};

struct Solution {
  std::vector<PodChoice> choices;  ///< by the index of the pod in the problem
  PlanCost cost;
};

/// Searches for what each pod gets, pod by pod, by branch and bound. In the first pass every pod
/// that cannot keep what it has stays against the rules or is evicted; the second stops at its
/// first solution; the third tries all good choices, the last one everything. See search.cpp.
class Search {
 public:
  /// Borrows the first two. `target` is a pod that has nothing yet and must be placed.
  Search(const SearchProblem& problem, Judge& judge, SearchRules rules,
         std::optional<std::size_t> target = std::nullopt);

  void run();
  [[nodiscard]] const std::optional<Solution>& best() const { return best_; }
  /// Returns whether no solution costs less than the best one; if none was found, whether there is
  /// none.
  [[nodiscard]] bool is_exhausted() const { return is_exhausted_; }

 private:
  void order_pods();
  [[nodiscard]] PlanCost least(const PodCase& pod, const CpuSet& free) const;
  [[nodiscard]] PlanCost least_of_unit(const Unit& unit, const CpuSet& free) const;
  [[nodiscard]] PlanCost least_after(std::size_t index, const CpuSet& free) const;
  [[nodiscard]] bool can_improve(const PlanCost& cost, std::size_t index, const CpuSet& free) const;
  [[nodiscard]] bool step();
  [[nodiscard]] bool was_tried(std::size_t index, const Board& board, const PlanCost& cost);
  [[nodiscard]] std::vector<int> owners(std::size_t index) const;

  Enumeration from(std::size_t index, const Board& board, const PlanCost& cost);
  Enumeration solved(const PlanCost& cost);
  Enumeration keep_all(std::size_t index, const Board& board, const PlanCost& cost);
  Enumeration stay(std::size_t index, const Board& board, const PlanCost& cost);
  Enumeration units_from(Placing& placing, const PlanCost& cost);
  Enumeration try_spot(Placing& placing, const PlanCost& cost, const Spot& spot);
  Enumeration try_cpus(Placing& placing, const PlanCost& cost, const CpuSet& cpus);
  [[nodiscard]] bool allows_together(const Placing& placing) const;
  Enumeration placed(const Placing& placing);

  const SearchProblem& problem_;
  const Node& node_;
  Judge& judge_;
  SearchRules rules_;
  std::vector<std::size_t> order_;
  std::vector<PodChoice> choices_;
  std::optional<Solution> best_;
  PlanCost least_cost_;
  std::size_t steps_ = 0;
  std::size_t not_accepted_ = 0;  ///< number of solutions that were not accepted
  std::optional<std::size_t> target_;
  enum class Pass { kStay, kFirst, kGood, kAll };
  Pass pass_ = Pass::kStay;
  /// The least cost at which the remaining pods were tried, by what was left for them.
  std::unordered_map<std::string, PlanCost> tried_;
  bool is_complete_ = true;  ///< no choice was left out
  bool is_exhausted_ = false;
};

}  // namespace pinfold::planning
