#include "pinfold/predict/scoring_strategy.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace pinfold {
namespace {

constexpr std::array<std::pair<ScoringStrategy, std::string_view>, 4> kNames = {{
    {ScoringStrategy::kLeastNumaNodes, "LeastNUMANodes"},
    {ScoringStrategy::kLeastAllocated, "LeastAllocated"},
    {ScoringStrategy::kMostAllocated, "MostAllocated"},
    {ScoringStrategy::kBalancedAllocation, "BalancedAllocation"},
}};

}  // namespace

std::string_view to_string(ScoringStrategy strategy) {
  return kNames[static_cast<std::size_t>(strategy)].second;
}

Result<ScoringStrategy> parse_scoring_strategy(std::string_view name) {
  for (const auto& [strategy, known] : kNames) {
    if (known == name) return strategy;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected LeastNUMANodes, LeastAllocated, MostAllocated or "
                          "BalancedAllocation",
                          name));
}

}  // namespace pinfold
