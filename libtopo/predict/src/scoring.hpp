#pragma once

#include <cstdint>
#include <span>

#include "pinfold/predict/evaluator.hpp"
#include "pinfold/predict/scoring_strategy.hpp"

namespace pinfold::predict {

/// Accumulates the score of one node while a pod's items are evaluated there.
class Scoring {
 public:
  explicit Scoring(ScoringStrategy strategy) : strategy_(strategy) {}

  /// Adds an item that would be served from `zones`.
  void add(NumaMask zones, std::span<const ZoneDemand> demands);
  [[nodiscard]] NumaMask zones() const { return zones_; }
  /// Returns 0 to 100; 0 if nothing was added.
  [[nodiscard]] std::uint8_t score() const;

 private:
  void add_fraction(NumaMask zones, const ZoneDemand& demand);

  ScoringStrategy strategy_;
  NumaMask zones_;
  // Sums over the fractions that would be in use afterwards.
  int count_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace pinfold::predict
