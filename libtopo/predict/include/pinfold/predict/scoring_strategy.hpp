#pragma once

#include <cstdint>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// How nodes that admit the pod are ranked. A score never changes an outcome.
enum class ScoringStrategy : std::uint8_t {
  kLeastNumaNodes,      ///< 100 for one zone, 50 for two, 33 for three ...
  kLeastAllocated,      ///< percentage of the zones that stays free, averaged over the resources
  kMostAllocated,       ///< percentage of the zones that is in use, averaged over the resources
  kBalancedAllocation,  ///< 100 if all resources of the zones are equally used
};
[[nodiscard]] std::string_view to_string(ScoringStrategy strategy);
/// Parses a strategy's name. Errors: kInvalidArgument, with the known names.
[[nodiscard]] Result<ScoringStrategy> parse_scoring_strategy(std::string_view name);

}  // namespace pinfold
